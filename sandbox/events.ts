/** Events as the simulated components write them; repetitions are counted on the first one. */
import { type Clock, formatTime, type Random } from "../kube/core/index.ts";
import type { Cluster, StoredObject } from "./cluster.ts";

export interface EventWriter {
  write(
    about: StoredObject,
    type: "Normal" | "Warning",
    reason: string,
    message: string,
    component: string,
    host?: string,
  ): void;
}

const remembered = 4_096;

export function createEventWriter(cluster: Cluster, clock: Clock, random: Random): EventWriter {
  const known = new Map<string, string>();
  const count = (namespace: string, name: string, now: string): boolean => {
    const updated = cluster.update("events", { namespace, name }, (draft) => {
      draft["count"] = (typeof draft["count"] === "number" ? draft["count"] : 1) + 1;
      draft["lastTimestamp"] = now;
    });
    return updated !== undefined;
  };
  return {
    write(about, type, reason, message, component, host) {
      const { name = "", uid = "", resourceVersion } = about.metadata;
      const namespace = about.metadata.namespace ?? "default";
      const now = formatTime(clock.now());
      const key = `${uid}/${component}/${host ?? ""}/${reason}/${message}`;
      const before = known.get(key);
      if (before !== undefined && count(namespace, before, now)) return;
      const suffix = Math.floor(random() * 2 ** 48)
        .toString(16)
        .padStart(16, "0");
      const event: StoredObject = {
        apiVersion: "v1",
        kind: "Event",
        metadata: { namespace, name: `${name}.${suffix}` },
        involvedObject: {
          apiVersion: about.apiVersion ?? "v1",
          kind: about.kind ?? "Pod",
          name,
          ...(about.metadata.namespace ? { namespace: about.metadata.namespace } : {}),
          uid,
          ...(resourceVersion ? { resourceVersion } : {}),
        },
        reason,
        message,
        source: host ? { component, host } : { component },
        firstTimestamp: now,
        lastTimestamp: now,
        count: 1,
        type,
        eventTime: null,
        reportingComponent: component,
        reportingInstance: host ?? "",
      };
      cluster.create("events", event);
      if (known.size >= remembered) {
        const oldest = known.keys().next().value;
        if (oldest !== undefined) known.delete(oldest);
      }
      known.set(key, `${name}.${suffix}`);
    },
  };
}
