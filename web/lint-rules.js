/**
 * Rules of our own for oxlint: strings from data go in as text, never as HTML, and are no regular expressions; each folder
 * of src imports only what is below it.
 */
import path from "node:path";

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

const SOURCE = path.join(import.meta.dirname, "src");

/** What each folder of src may import, besides itself. */
const BELOW = {
  app: ["pages", "plot", "stage3d", "ui", "data", "wire"],
  pages: ["plot", "stage3d", "ui", "data", "wire"],
  plot: ["ui", "data", "wire"],
  stage3d: ["ui", "data", "wire"],
  ui: ["data", "wire"],
  data: ["wire"],
  wire: [],
};

/** `["pages", "runs"]` for a file of that page; null outside of src. */
function placeOf(file) {
  const parts = path.relative(SOURCE, file).split(path.sep);
  return parts[0] === ".." ? null : parts.slice(0, 2).map((part) => part.replace(/\.ts$/, ""));
}

/** Why one file may not import another; null where it may. */
function againstLayers([layer, page], [target, targetPage]) {
  if (BELOW[layer] === undefined) return `src/${layer} is no layer: the file belongs in ${Object.keys(BELOW).join(", ")}.`;
  if (layer === "pages" && target === "pages" && page !== targetPage) {
    return `The page ${page} imports the page ${targetPage}: what both need goes to plot, stage3d, ui or data, or app hands it in.`;
  }
  if (layer === target || BELOW[layer].includes(target)) return null;
  return `${layer} imports ${target}, and may import ${BELOW[layer].join(", ") || "nothing"}: see web/README.md.`;
}

const layers = {
  create(context) {
    const place = placeOf(context.filename);
    if (place === null) return {};
    const check = ({ source }) => {
      if (!source?.value?.startsWith?.(".")) return;
      const target = placeOf(path.resolve(path.dirname(context.filename), source.value));
      const message = target === null ? "src imports nothing outside of src." : againstLayers(place, target);
      if (message !== null) context.report({ node: source, message });
    };
    return {
      ImportDeclaration: check,
      ImportExpression: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      TSImportType: check,
    };
  },
};

export default {
  meta: { name: "torcheer" },
  rules: { "no-html": noHtml, "no-pattern-from-data": noPatternFromData, layers },
};
