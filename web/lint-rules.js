/** Rules of our own for oxlint: strings from data go in as text, never as HTML, and are no regular expressions. */

const HTML = new Set(["innerHTML", "outerHTML", "insertAdjacentHTML"]);

const noHtml = {
  create(context) {
    const report = (node) => context.report({ node, message: "Text goes in as text." });
    return {
      JSXAttribute: (node) => {
        if (node.name.name === "dangerouslySetInnerHTML") report(node);
      },
      MemberExpression: (node) => {
        if (HTML.has(node.property.name)) report(node);
      },
    };
  },
};

const noPatternFromData = {
  create(context) {
    const check = (node) => {
      if (node.callee.name !== "RegExp") return;
      context.report({ node, message: "A pattern is never made of data: see src/data/globs.ts." });
    };
    return { NewExpression: check, CallExpression: check };
  },
};

export default {
  meta: { name: "torcheer" },
  rules: { "no-html": noHtml, "no-pattern-from-data": noPatternFromData },
};
