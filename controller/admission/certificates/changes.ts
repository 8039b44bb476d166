/** Watches for changes of the objects that certificates are about. Spec: platform 4.2, rule 1. */
import type { Client, Clock, KubeObject, Log, Resource, WatchOptions } from "../../../kube/index.ts";

/** One set of objects to watch; what changed does not matter, only that something did. */
export interface Watched {
  readonly resource: Resource<KubeObject>;
  readonly namespace?: string;
  readonly fieldSelector?: string;
  /** Which objects count; default: all. */
  readonly relevant?: (object: KubeObject) => boolean;
}

const reopenMs = 5_000;

/** Calls `changed` for every event, until the signal. A watch that ends or fails is opened again after a while. */
export function watchChanges(
  { client, clock, log, watched }: { client: Client; clock: Clock; log: Log; watched: readonly Watched[] },
  changed: () => void,
  signal: AbortSignal,
): void {
  for (const each of watched) void keepWatching(each);

  async function keepWatching({ resource, namespace, fieldSelector, relevant }: Watched): Promise<void> {
    const options: WatchOptions = {
      signal,
      ...(namespace === undefined ? {} : { namespace }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    };
    while (!signal.aborted) {
      try {
        for await (const events of await client.watch(resource, options)) {
          if (events.some((event) => "object" in event && (relevant === undefined || relevant(event.object))))
            changed();
        }
      } catch (error) {
        if (signal.aborted) return;
        log.debug("certificates: watch ended", { resource: resource.plural, error });
      }
      await clock.sleep(reopenMs, signal).catch(() => undefined);
    }
  }
}
