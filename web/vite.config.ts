/// <reference types="vitest/config" />
import { readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";

const STATIC = "../src/torcheer/app/static";
const MARKER =
  "Generated from web/ by `npm run build`; do not edit.\n" +
  "app.js, app.css and worker.js are the whole page: the server sends them, the one-file page holds them.\n";

/** Say in the folder itself that it is built. */
function marker(): Plugin {
  return {
    name: "torcheer-marker",
    generateBundle() {
      this.emitFile({ type: "asset", fileName: "README", source: MARKER });
    },
  };
}

/** For `npm run dev`: TORCHEER_PAGE=page.html shows the pass that history.to_html wrote there. */
function devData(): Plugin {
  return {
    name: "torcheer-dev-data",
    apply: "serve",
    transformIndexHtml() {
      const page = process.env.TORCHEER_PAGE;
      if (page === undefined) return [];
      const data = /<script type="application\/json" id="torcheer-data">([^<]*)</.exec(
        readFileSync(page, "utf8"),
      );
      return [
        {
          tag: "script",
          attrs: { type: "application/json", id: "torcheer-data" },
          children: data?.[1] ?? "",
          injectTo: "body-prepend",
        },
      ];
    },
  };
}

// Two builds, since a page that is one file needs the worker as a text of its own, without shared chunks:
// `--mode app` gives app.js and app.css, `--mode worker` gives worker.js.
export default defineConfig(({ mode }) => {
  const isWorker = mode === "worker";
  return {
    define: { "process.env.NODE_ENV": JSON.stringify(mode === "test" ? "test" : "production") },
    plugins: isWorker ? [] : [marker(), devData()],
    build: {
      outDir: STATIC,
      emptyOutDir: !isWorker,
      target: "es2022",
      cssCodeSplit: false,
      assetsInlineLimit: 100_000,
      modulePreload: false,
      reportCompressedSize: true,
      rolldownOptions: {
        input: isWorker ? "src/graph/worker.ts" : "src/main.tsx",
        output: {
          format: "iife",
          entryFileNames: isWorker ? "worker.js" : "app.js",
          assetFileNames: "app.css",
        },
      },
    },
    test: { environment: "node", include: ["tests/**/*.test.{ts,tsx}"] },
  };
});
