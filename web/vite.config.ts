/// <reference types="vitest/config" />
import { readFileSync } from "node:fs";
import { defineConfig, type EnvironmentOptions, type Plugin } from "vite";

const STATIC = "../src/torcheer/app/static";
const MARKER =
  "Generated from web/ by `npm run build`; do not edit.\n" +
  "The server sends app.js, app.css and worker.js. A page that is one file holds onefile.js, onefile.css and worker.js\n" +
  "where it shows a pass, netfile.js and netfile.css where it shows a network, learnfile.js and learnfile.css where it\n" +
  "shows an expression.\n";

const DOM_TESTS = "tests/**/*.dom.test.{ts,tsx}";

/** What is built, each from one entry and into one file: a page that is one file needs texts without shared chunks. */
const ENTRIES = {
  app: "src/app/main.tsx",
  onefile: "src/app/onefile.tsx",
  netfile: "src/app/netfile.tsx",
  learnfile: "src/app/learnfile.tsx",
  worker: "src/pages/graph/layout/worker.ts",
};

/** Say in the folder itself that it is built. */
function marker(): Plugin {
  return {
    name: "torcheer-marker",
    applyToEnvironment: ({ name }) => name === "app",
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

/** The build of one entry; the first one empties the folder. */
function environment([name, input]: [string, string], at: number): [string, EnvironmentOptions] {
  const output = { format: "iife", entryFileNames: `${name}.js`, assetFileNames: `${name}.css` } as const;
  return [name, { consumer: "client", build: { emptyOutDir: at === 0, rolldownOptions: { input, output } } }];
}

export default defineConfig(({ mode, command }) => ({
  define: { "process.env.NODE_ENV": JSON.stringify(mode === "test" ? "test" : "production") },
  plugins: [marker(), devData()],
  environments: command === "build" ? Object.fromEntries(Object.entries(ENTRIES).map(environment)) : {},
  builder: {
    async buildApp(builder) {
      for (const name of Object.keys(ENTRIES)) await builder.build(builder.environments[name]!);
    },
  },
  build: {
    outDir: STATIC,
    target: "es2022",
    cssCodeSplit: false,
    assetsInlineLimit: 100_000,
    modulePreload: false,
    reportCompressedSize: true,
  },
  test: {
    pool: "threads",
    projects: [
      // Without a document the tests share their workers; each file gets fresh modules all the same.
      {
        extends: true,
        test: {
          name: "logic",
          include: ["tests/**/*.test.ts"],
          exclude: [DOM_TESTS],
          isolate: false,
          setupFiles: ["tests/fresh-modules.ts"],
        },
      },
      { extends: true, test: { name: "dom", include: [DOM_TESTS], environment: "happy-dom" } },
    ],
  },
}));
