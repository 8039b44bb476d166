/** Watches all that is stored, and says what must not be. It shares no code with the controllers. */
import type { StoredObject } from "../../sandbox/index.ts";
import type { SimulatedCluster } from "../cluster.ts";
import { disruptionsOf } from "./disruptions.ts";
import { keyOf } from "./fields.ts";
import { Seen } from "./seen.ts";
import { missing } from "./settled.ts";

export interface Violation {
  /** Milliseconds after the beginning. */
  readonly at: number;
  readonly text: string;
}

export class Observer {
  readonly violations: Violation[] = [];
  /** Of controllers, but for leases and events. */
  writes = 0;
  /** When the newest of them was stored. */
  lastWriteAt = 0;
  /** Each stored write, a line each. */
  readonly trace: string[] = [];
  readonly #cluster: SimulatedCluster;

  constructor(cluster: SimulatedCluster, staleMs: number) {
    this.#cluster = cluster;
    const seen = new Seen(cluster);
    const { server, clock } = cluster;
    for (const resource of owned) {
      server.cluster.subscribe(resource, ({ type, object }) => {
        if (type !== "DELETED") this.#owners(object);
      });
    }
    server.faults.onWrite((write) => {
      const { userAgent, verb, resource, namespace, name } = write;
      const now = clock.monotonic();
      this.trace.push(`${Math.round(now)} ${userAgent} ${verb} ${resource} ${namespace}/${name}`);
      if (!userAgent.startsWith("replica-") || resource.startsWith("leases") || resource.startsWith("events"))
        return;
      this.writes += 1;
      this.lastWriteAt = now;
      for (const text of disruptionsOf(seen, write, now, staleMs))
        this.violation(`${userAgent} ${verb} ${resource}: ${text}`);
    });
  }

  violation(text: string): void {
    this.violations.push({ at: this.#cluster.clock.monotonic(), text });
  }

  /** What is missing of the state that is asked for. */
  missing(): string[] {
    return missing(this.#cluster);
  }

  #owners(object: StoredObject): void {
    const controllers =
      object.metadata.ownerReferences?.filter(({ controller }) => controller === true) ?? [];
    if (controllers.length > 1)
      this.violation(`${object.kind} ${keyOf(object)} has ${controllers.length} controllers`);
  }
}

const owned = ["pods", "controllerrevisions.apps", "clonesets.apps.kruise.io"];
