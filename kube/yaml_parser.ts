/** A module of this project's own: what a bundle evaluates late are functions of such. */
export { parse } from "yaml";
