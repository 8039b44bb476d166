/** Columns of the built-in kinds, by `<plural>.<group>`. */
import { agePrinter, type Printer, plainPrinter } from "../printer.ts";

const printers: Readonly<Record<string, Printer>> = {
  serviceaccounts: agePrinter,
};

export function printerOf(resource: string): Printer {
  return printers[resource] ?? plainPrinter;
}
