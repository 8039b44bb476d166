import { CliError } from "../errors.ts";

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "the port is taken",
  EACCES: "no permission for this port",
  EADDRNOTAVAIL: "this machine has no such address",
  ENOTFOUND: "the host name is unknown",
};

/** One line for an address that cannot be had. `remedy` is how the user chooses another one. */
export function listenError(address: string, remedy: string, error: unknown): CliError {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const reason = reasons[code] ?? (error instanceof Error ? error.message : String(error));
  return new CliError(`cannot listen on ${address}: ${reason}; choose another with ${remedy}`, {
    cause: error,
  });
}
