/** The agent as one file that Node and Deno run unchanged: `npm run build:agent`. */
import { isBuiltin } from "node:module";
import { nodeCheckBanner, onwarn, plugins, requireBanner } from "./plugins.mjs";

export default {
  input: "agent/main.ts",
  output: {
    file: "dist/agent.mjs",
    format: "es",
    inlineDynamicImports: true,
    banner: `${requireBanner}${nodeCheckBanner("the agent")}`,
    // Beside it, but not named in it: Deno would read it at the first trace, which takes 64 MB. The image has none.
    sourcemap: "hidden",
  },
  external: isBuiltin,
  plugins: plugins("dist/agent.NOTICES.txt"),
  onwarn,
};
