/** How much is logged: `--v`, which may be changed while the controller runs. */
import type { LogLevel } from "../../kube/index.ts";

export const mostVerbose = 100;
/** From here on details of each pass are logged. */
const detailed = 5;

export class Verbosity {
  value: number;

  constructor(value: number) {
    this.value = value;
  }

  get level(): LogLevel {
    return this.value >= detailed ? "debug" : "info";
  }
}
