/** Notices changes of the objects that certificates are about. Spec: platform 4.2, rule 1. */
import {
  Cache,
  type Client,
  type Clock,
  isJsonObject,
  type Log,
  projectedJsonCodec,
  type Random,
  type Resource,
  startInformer,
} from "../../../../kube/index.ts";

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

function identityOf(object: { metadata?: unknown }): Identity {
  const metadata = isJsonObject(object.metadata) ? object.metadata : {};
  const text = (key: string) => (typeof metadata[key] === "string" ? metadata[key] : "");
  const namespace = text("namespace");
  return {
    key: namespace === "" ? text("name") : `${namespace}/${text("name")}`,
    uid: text("uid"),
    version: text("resourceVersion"),
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
