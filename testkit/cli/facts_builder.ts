/** What `why` has read, of which a test says only what it is about: objects as the API has them. */
import { type AnyObject, toAnyObject } from "../../cli/fields.ts";
import type { EventFacts, Facts, SubjectFacts } from "../../cli/why/causes/facts.ts";
import { subjectFactsOf } from "../../cli/why/causes/gather.ts";
import { podFactsOf } from "../../cli/why/causes/pod_facts.ts";

/** 2026-01-01T00:00:00Z. */
export const now = 1_767_225_600_000;

/** RFC 3339, seconds before now. */
export function ago(seconds: number): string {
  return new Date(now - seconds * 1000).toISOString();
}

export interface PodParts {
  readonly name?: string;
  readonly metadata?: object;
  readonly spec?: object;
  readonly status?: object;
  /** Entry of containerStatuses. */
  readonly container?: object;
}

/** On node1, not ready for five minutes; its container runs unless `container` says otherwise. */
export function podWith({ name = "web-a", metadata, spec, status, container }: PodParts = {}): AnyObject {
  return toAnyObject({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", uid: `uid-${name}`, creationTimestamp: ago(600), ...metadata },
    spec: { nodeName: "node1", containers: [{ name: "web", image: "web:1" }], ...spec },
    status: {
      phase: "Running",
      conditions: [
        { type: "PodScheduled", status: "True", lastTransitionTime: ago(600) },
        { type: "Ready", status: "False", lastTransitionTime: ago(300) },
      ],
      containerStatuses: [
        {
          name: "web",
          ready: false,
          started: true,
          restartCount: 0,
          state: { running: { startedAt: ago(300) } },
          ...container,
        },
      ],
      ...status,
    },
  });
}

export interface FactsParts extends Partial<Omit<Facts, "pods" | "subject">> {
  readonly object?: object;
  readonly subject?: Partial<SubjectFacts>;
  readonly pods?: readonly AnyObject[];
  readonly podEvents?: readonly EventFacts[];
}

/** Of a CloneSet `web` on ready nodes, whose controller holds its lease. */
export function factsWith({ object, subject, pods = [], podEvents = [], ...more }: FactsParts): Facts {
  const whole = toAnyObject({
    metadata: { name: "web", namespace: "default", creationTimestamp: ago(3600), generation: 1 },
    status: { observedGeneration: 1 },
    ...object,
  });
  const read = subjectFactsOf(whole, "cloneset.apps.kruise.io/web", { observes: true });
  const ready = { status: "True", reason: "", message: "", since: undefined };
  return {
    now,
    subject: { ...read, ...subject },
    pods: pods.map(podFactsOf),
    podCount: pods.length,
    newestPodAt: undefined,
    events: [],
    eventsOf: () => podEvents,
    node: () => ({ exists: true, ready }),
    claim: () => undefined,
    lastLine: () => undefined,
    requests: [],
    budgets: [],
    leases: [{ key: "kruise-system/kruise-manager", holder: "a", renewedAt: now, durationMs: 15_000 }],
    agents: undefined,
    ...more,
  };
}

export function warning(reason: string, message: string, secondsAgo = 30, count = 1): EventFacts {
  const at = now - secondsAgo * 1000;
  return { isWarning: true, reason, message, at, firstAt: at, count };
}
