/** The YAML parser, evaluated only where a plugin config is read: `import()` of this module, not of the package. */
export { parse } from "yaml";
