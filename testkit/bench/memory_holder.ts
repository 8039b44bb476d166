/** A process that holds some memory when it is asked to, and tells where its inspector listens. */
import { url } from "node:inspector";

const numbers = 4_000_000;
const held: number[][] = [];

process.on("message", (question) => {
  if (question === "hold") held.push(Array.from({ length: numbers }, () => 0.5));
  if (question === "drop") held.length = 0;
  process.send?.(question === "where" ? url() : "done");
});
