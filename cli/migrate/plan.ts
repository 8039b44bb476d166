/**
 * Which step comes next, of taking a cluster over and of going back. What was done is read from the cluster each time, so that
 * the next run continues one that was killed at any moment.
 */

/** `former`: the manager or agent that was there before. */
export type Program = "former" | "refit";

/** How far a takeover or a return has come, as its record says. */
export type Phase =
  /** All that will be changed is written down; nothing is changed before. */
  | "recorded"
  /** Everything is applied. */
  | "installed"
  /** Going back has begun. */
  | "returning";

export interface MigrationState {
  /** Undefined without a record. */
  readonly phase: Phase | undefined;
  /** Deployment of the manager; undefined when there is none. */
  readonly manager: { readonly program: Program; readonly replicas: number } | undefined;
  /** Replicas of the former manager by the record; 0 without one. */
  readonly formerReplicas: number;
  /** Pods of the manager that are left, also those that end. */
  readonly managerPods: number;
  /** Somebody holds the manager's Lease and has not let it expire. */
  readonly leaseHeld: boolean;
  /** DaemonSet of the agents. */
  readonly agents: Program | undefined;
  /** Objects are stored in the versions that the former definitions have. */
  readonly storedAsBefore: boolean;
  /** Whoever holds the Lease answers webhooks. */
  readonly serving: boolean;
}

export type Step =
  | "record what is there"
  | "turn round"
  | "stop the manager"
  | "wait until the manager is gone"
  | "remove the manager"
  | "remove the agents"
  | "install"
  | "wait until it leads"
  | "begin to go back"
  | "store in former versions"
  | "put back what was there"
  | "forget the record";

export type Refusal = { readonly refused: string };

export interface TakeoverOptions {
  /** The former agents are replaced; else they stay and serve the new controller. */
  readonly replacesAgents: boolean;
}

/** Undefined when all is done. */
export function nextOfTakeover(
  state: MigrationState,
  { replacesAgents }: TakeoverOptions,
): Step | Refusal | undefined {
  const { phase, manager, agents, serving } = state;
  if (phase === undefined) {
    if (manager?.program === "refit")
      return { refused: "Refit runs here already; there is nothing to take over" };
    if (manager === undefined)
      return { refused: "there is no Deployment kruise-controller-manager to take over from" };
    return "record what is there";
  }
  if (phase === "returning") return "turn round";
  if (phase === "installed") return serving ? undefined : "wait until it leads";
  if (manager?.program === "former") return nextOfEnd(state);
  if (agents === "former" && replacesAgents) return "remove the agents";
  return "install";
}

/** Undefined when all is done. */
export function nextOfReturn(state: MigrationState): Step | Refusal | undefined {
  const { phase, manager, agents, formerReplicas, storedAsBefore } = state;
  if (phase === undefined) {
    // The record is forgotten last.
    if (manager?.program === "former") return undefined;
    return { refused: "nothing was taken over here: there is no ConfigMap refit-migration" };
  }
  if (phase !== "returning") return "begin to go back";
  // The manager is put back last. It may never have been gone: then only its replicas are.
  if (manager?.program === "former")
    return manager.replicas === formerReplicas ? "forget the record" : "put back what was there";
  // Reading other versions needs conversion: only a controller that runs answers it.
  if (!storedAsBefore) return "store in former versions";
  if (manager !== undefined || state.leaseHeld || state.managerPods > 0) return nextOfEnd(state);
  if (agents === "refit") return "remove the agents";
  return "put back what was there";
}

/** The Lease is waited for: a replica on a node that nobody reaches might still write. */
function nextOfEnd({ manager, managerPods, leaseHeld }: MigrationState): Step {
  if (manager !== undefined && manager.replicas > 0) return "stop the manager";
  if (managerPods > 0 || leaseHeld) return "wait until the manager is gone";
  return "remove the manager";
}
