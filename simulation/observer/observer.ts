/** Watches all that is stored, and says what must not be. It shares no code with the controllers. */
import type { StoredObject } from "../../sandbox/index.ts";
import { AgentPulls } from "./agents.ts";
import { budgets } from "./budgets.ts";
import { Claims } from "./claims.ts";
import { cron, runsMissing } from "./cron.ts";
import { disruptions } from "./disruptions.ts";
import { keyOf } from "./fields.ts";
import { hooks } from "./hooks.ts";
import { hotUpgrades } from "./hot_upgrades.ts";
import { injection } from "./injection.ts";
import { Insistence } from "./insistence.ts";
import { jobs } from "./jobs.ts";
import { leadership } from "./leadership.ts";
import { Leads } from "./leads.ts";
import type { ObservedCluster } from "./observed.ts";
import { ordered } from "./ordered.ts";
import { looks, pulls, theirs } from "./pulls.ts";
import { Restarts } from "./restarts.ts";
import type { Rule } from "./rule.ts";
import { Seen } from "./seen.ts";
import { missing } from "./settled.ts";
import { sidecars } from "./sidecars.ts";
import { spreads } from "./spreads.ts";
import { statuses } from "./statuses.ts";

export interface Violation {
  /** Milliseconds after the beginning. */
  readonly at: number;
  /** What found it: a rule by its name, or what it looks at. */
  readonly check: string;
  readonly text: string;
}

/** A story asks for some hundreds of writes. */
const mostWrites = 10_000;

export class Observer {
  readonly violations: Violation[] = [];
  /** Of controllers, but for leases and events. */
  writes = 0;
  /** When somebody last made up a status; milliseconds after the beginning. */
  statusMadeUpAt = Number.NEGATIVE_INFINITY;
  /** When the newest of them was stored. */
  lastWriteAt = 0;
  /** Each stored write, a line each. */
  readonly trace: string[] = [];
  readonly #cluster: ObservedCluster;
  readonly #insistence = new Insistence();
  readonly #claims: Claims;

  /** `staleMsAt`: how late controllers may be at that time. */
  constructor(cluster: ObservedCluster, staleMsAt: (now: number) => number) {
    this.#cluster = cluster;
    const seen = new Seen(cluster);
    const leads = new Leads(cluster);
    this.#claims = new Claims(cluster, seen, leads);
    const all = { ...rules, claims: this.#claims.rule, insistence: this.#insistence.rule };
    const { server, clock } = cluster;
    const agentPulls = new AgentPulls(cluster, (text) => this.violation("agents", text));
    new Restarts(cluster, (text) => this.violation("restarts", text));
    for (const resource of owned) {
      server.cluster.subscribe(resource, ({ type, object }) => {
        if (type !== "DELETED") this.#owners(object);
      });
    }
    server.faults.onWrite((write) => {
      const { userAgent, verb, resource, namespace, name } = write;
      const now = clock.monotonic();
      this.trace.push(`${Math.round(now)} ${userAgent} ${verb} ${resource} ${namespace}/${name}`);
      const pod = /^pods(\/|$)/.test(resource) ? seen.pod(namespace, name) : undefined;
      if (pod !== undefined && userAgent === "person" && recordOf(pod.before) !== recordOf(pod.now))
        pod.isMeddled = true;
      const seenWrite = {
        ...write,
        cluster,
        seen,
        agentPulls,
        ledSince: leads.since,
        pod,
        now,
        staleMs: staleMsAt(now),
        madeUpAt: this.statusMadeUpAt,
      };
      for (const [check, rule] of Object.entries(all))
        for (const text of rule(seenWrite))
          this.violation(check, `${userAgent} ${verb} ${resource}: ${text}`);
      // The next write may change nothing: this one's change is not its doing.
      if (pod !== undefined) pod.before = pod.now;
      if (!userAgent.startsWith("replica-") || /^(leases|events)/.test(resource)) return;
      this.writes += 1;
      this.lastWriteAt = now;
      if (this.writes === mostWrites)
        this.violation("rest", `controllers have written ${mostWrites} times and go on`);
    });
  }

  violation(check: string, text: string): void {
    this.violations.push({ at: this.#cluster.clock.monotonic(), check, text });
  }

  /** A request of a replica was refused, or got no answer. */
  refused(userAgent: string, method: string, path: string): void {
    const text = this.#insistence.refused(userAgent, method, path, this.#cluster.clock.monotonic());
    if (text !== undefined) this.violation("insistence", text);
    this.#claims.refused(method, path);
  }

  /** AdvancedCronJobs that have started no run since then, and should have: a sentence each. */
  runsMissing(since: number): () => string[] {
    return () => runsMissing(this.#cluster, since);
  }

  /** What is missing of the state that is asked for. */
  missing(): string[] {
    return [...missing(this.#cluster), ...this.#claims.left()];
  }

  #owners(object: StoredObject): void {
    const controllers =
      object.metadata.ownerReferences?.filter(({ controller }) => controller === true) ?? [];
    if (controllers.length > 1)
      this.violation("owners", `${object.kind} ${keyOf(object)} has ${controllers.length} controllers`);
  }
}

/** What a pod says of its update in place. */
function recordOf(pod: StoredObject | undefined): string {
  return JSON.stringify([
    pod?.metadata.annotations?.["apps.kruise.io/inplace-update-state"],
    pod?.metadata.labels?.["controller-revision-hash"],
  ]);
}

const owned = ["pods", "controllerrevisions.apps", "clonesets.apps.kruise.io"];
const rules: Readonly<Record<string, Rule>> = {
  disruptions,
  budgets,
  ordered,
  hooks,
  injection,
  sidecars,
  "hot upgrades": hotUpgrades,
  jobs,
  cron,
  pulls,
  looks,
  spreads,
  statuses,
  theirs,
  leadership,
};
