/** Makes a script for browsers small. */
import terser from "@rollup/plugin-terser";

export const smaller = terser({ module: true, ecma: 2022, format: { ascii_only: true, comments: false } });
