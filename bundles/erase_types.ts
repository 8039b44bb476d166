/** Types become blanks, as Node itself erases them, so no position changes and there is no map to make. */
import { stripTypeScriptTypes } from "node:module";
import type { Plugin } from "rollup";

export const eraseTypes: Plugin = {
  name: "erase-types",
  transform: (code, id) =>
    id.endsWith(".ts") ? { code: stripTypeScriptTypes(code, { mode: "strip" }), map: null } : null,
};
