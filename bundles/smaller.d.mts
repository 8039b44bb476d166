import type { Plugin } from "rollup";

export const smaller: Plugin;
