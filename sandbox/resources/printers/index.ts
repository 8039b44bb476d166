/** Columns of the built-in kinds, by `<plural>.<group>`. */
import { type Printer, plainPrinter } from "../printer.ts";
import { clusterPrinters } from "./cluster.ts";
import { networkingPrinters } from "./networking.ts";
import { podPrinter } from "./pods.ts";
import { storagePrinters } from "./storage.ts";
import { workloadPrinters } from "./workloads.ts";

const printers: Readonly<Record<string, Printer>> = {
  pods: podPrinter,
  ...clusterPrinters,
  ...networkingPrinters,
  ...storagePrinters,
  ...workloadPrinters,
};

export function printerOf(resource: string): Printer {
  return printers[resource] ?? plainPrinter;
}
