/** `refit`, the command line; also a kubectl plugin. */
export type { Host } from "./command.ts";
export { controllerEnvironment, controllerNodeFlags } from "./controller/launch.ts";
export { at, listAt, textAt, textsAt } from "./fields.ts";
export { freePort } from "./free_port.ts";
export type { Io, Paint } from "./io.ts";
export { main } from "./main.ts";
export { manualPage } from "./manual_page.ts";
export { progressLine } from "./progress_line.ts";
export { refitVersion } from "./version.ts";
