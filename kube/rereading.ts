import type { Clock } from "./clock.ts";
import { errorText } from "./core/errors.ts";
import type { Access, Credentials } from "./credentials_types.ts";
import { isKubeError, KubeError } from "./errors.ts";

/** Tokens and certificates are read again after so long; the kubelet renews them long before they expire. */
const rereadMs = 60_000;

/** Credentials that are read again after a while, and at once when the server did not accept them. */
export function rereading(
  clock: Clock,
  namespace: string,
  read: (refused: boolean) => Promise<Access>,
): Credentials {
  let held: { access: Promise<Access>; until: number } | undefined;
  const readNow = (refused: boolean): Promise<Access> => {
    const access = read(refused).catch((cause: unknown) => {
      held = undefined;
      if (isKubeError(cause)) throw cause;
      throw new KubeError("Config", `credentials cannot be read: ${errorText(cause)}`, { cause });
    });
    held = { access, until: clock.monotonic() + rereadMs };
    return access;
  };
  let refreshing: Promise<unknown> | undefined;
  return {
    namespace,
    access: () => (held && clock.monotonic() < held.until ? held.access : readNow(false)),
    // Many requests are refused at once when a token ends: one refresh serves them all.
    refresh: async () => {
      refreshing ??= readNow(true).finally(() => {
        refreshing = undefined;
      });
      await refreshing;
    },
  };
}
