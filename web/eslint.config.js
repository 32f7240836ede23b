import js from "@eslint/js";
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig(
    { ignores: ["node_modules"] },
    js.configs.recommended,
    tseslint.configs.strictTypeChecked,
    tseslint.configs.stylisticTypeChecked,
    {
        languageOptions: { parserOptions: { projectService: { allowDefaultProject: ["eslint.config.js"] } } },
        linterOptions: { reportUnusedDisableDirectives: "error" },
        rules: {
            complexity: ["error", 12],
            "max-lines": ["error", 700],
            "no-eval": "error",
            "no-implied-eval": "error",
            // Strings from data go in as text, never as HTML, and are no regular expressions.
            "no-restricted-syntax": [
                "error",
                {
                    selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']",
                    message: "Text goes in as text.",
                },
                {
                    selector: ":matches(NewExpression, CallExpression)[callee.name='RegExp']",
                    message: "A pattern is never made of data: see src/globs.ts.",
                },
                {
                    selector: "MemberExpression[property.name=/^(innerHTML|outerHTML|insertAdjacentHTML)$/]",
                    message: "Text goes in as text.",
                },
            ],
            "@typescript-eslint/no-non-null-assertion": "off",
            "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
            "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
        },
    },
    // Generated, and as long as what can be said.
    { files: ["src/wire.ts"], rules: { "max-lines": "off" } },
);
