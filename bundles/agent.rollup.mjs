/**
 * The agent as one file that Node and Deno run unchanged: `npx rollup -c bundles/agent.rollup.mjs`.
 */
import {
  evaluatedLate,
  lazyBuiltins,
  minified,
  narrowed,
  requireBanner,
  resolving,
  unusedParts,
} from "./plugins.mjs";

const parts = {
  ...unusedParts,
  // It lists the whole environment when it is loaded, which the agent has no permission for.
  debug: `const silent = () => Object.assign(() => undefined, { enabled: false, extend: silent });
export default silent;`,
  // protobufjs makes numbers of 64 bits without it, which is what is wanted of them.
  long: "export default null;",
};

const shared = () => [narrowed(parts), lazyBuiltins, ...resolving()];

export default {
  input: "agent/main.ts",
  output: {
    file: "dist/agent.mjs",
    format: "es",
    inlineDynamicImports: true,
    banner: requireBanner,
    generatedCode: "es2015",
  },
  treeshake: { moduleSideEffects: false },
  plugins: [
    evaluatedLate((id) => id.includes("/kube/") && !id.includes("/node_modules/"), shared),
    ...shared(),
    minified({ module: true }),
  ],
  onwarn(warning, warn) {
    if (["CIRCULAR_DEPENDENCY", "THIS_IS_UNDEFINED"].includes(warning.code)) return;
    warn(warning);
  },
};
