/** Notices changes of the objects that certificates are about. Spec: platform 4.2, rule 1. */
import type { JsonObject } from "../../../../kube/core/index.ts";
import {
  Cache,
  type Client,
  type Clock,
  type Log,
  projectedJsonCodec,
  type Random,
  type Resource,
  startInformer,
} from "../../../../kube/index.ts";
import { objectAt, textAt } from "../../../native/json_fields.ts";

/** One object to watch; what changed does not matter, only that something did. */
export interface Watched {
  readonly resource: Omit<Resource<unknown>, "codec">;
  readonly namespace?: string;
  readonly name: string;
}

interface Identity {
  readonly key: string;
  readonly uid: string;
  readonly version: string;
}

/** Secrets are secret and definitions large: only the identity is kept. */
const identityCodec = projectedJsonCodec<Identity>({
  fromJson: identityOf,
  identify: (identity) => identity,
});

function identityOf(object: JsonObject): Identity {
  const metadata = objectAt(object, "metadata");
  const [namespace, name] = [textAt(metadata, "namespace"), textAt(metadata, "name")];
  return {
    key: namespace === "" ? name : `${namespace}/${name}`,
    uid: textAt(metadata, "uid"),
    version: textAt(metadata, "resourceVersion"),
  };
}

/** Calls `changed` for every change, until the signal; first for what is there. */
export function watchChanges(
  deps: { client: Client; clock: Clock; random: Random; log: Log; watched: readonly Watched[] },
  changed: () => void,
  signal: AbortSignal,
): void {
  const { client, clock, random, log } = deps;
  for (const { resource, namespace, name } of deps.watched) {
    const cache = new Cache<Identity>({ identify: (identity) => identity });
    cache.subscribe(() => changed());
    const informer = startInformer({
      client,
      resource: { ...resource, codec: identityCodec },
      cache,
      clock,
      random,
      log: log.with({ watch: resource.plural }),
      streamingList: false,
      fieldSelector: `metadata.name=${name}`,
      ...(namespace === undefined ? {} : { namespace }),
    });
    informer.synced.catch(() => undefined);
    signal.addEventListener("abort", () => void informer.stop());
  }
}
