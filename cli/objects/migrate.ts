import { type Client, isKubeError } from "../../kube/index.ts";
import { switchFlag, textFlag } from "../arguments.ts";
import type { Call, ClusterAccess, Command } from "../command.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, at, countAt, numberAt } from "../fields.ts";
import { objectResource } from "../resource_types.ts";
import type { Target } from "../target.ts";
import { fieldManager } from "../write.ts";
import { readScale, writeScale } from "./scale.ts";

const pollMs = 1000;

export const migrate: Command = {
  name: "migrate",
  summary: "Make a CloneSet of a Deployment, or move replicas from one to the other.",
  usage:
    "CloneSet --from Deployment -n NAMESPACE --src-name DEPLOYMENT --dst-name CLONESET [--create | --replicas N]",
  arguments: { most: 1, choices: ["CloneSet"] },
  details: `With --create the CloneSet is made from the Deployment's selector and template, with no pods, or with
--copy as many as the Deployment has. Without it replicas move in steps: the CloneSet grows by up to
--max-surge pods, and when all its pods are available the Deployment shrinks by the same number.`,
  examples: [
    "refit migrate CloneSet --from Deployment -n default --src-name web --dst-name web --create",
    "refit migrate CloneSet --from Deployment -n default --src-name web --dst-name web --replicas 10 --max-surge 2",
  ],
  flags: {
    from: textFlag("KIND", "Kind to migrate from: Deployment."),
    "src-name": textFlag("NAME", "The Deployment."),
    "dst-name": textFlag("NAME", "The CloneSet."),
    create: switchFlag("Create the CloneSet."),
    copy: switchFlag("With --create: give it as many replicas as the Deployment has."),
    replicas: textFlag("N", "Replicas to move; else all."),
    "max-surge": textFlag("N", "Most pods above the number before, at any time.", { default: "1" }),
    "timeout-seconds": textFlag("N", "Give up after this many seconds; -1 means never.", { default: "-1" }),
  },
  async run(call) {
    const job = await jobOf(call);
    if (call.flags.on("create")) await createCloneSet(call, job);
    else await moveReplicas(call, job);
    return 0;
  },
};

interface Job {
  readonly access: ClusterAccess;
  readonly source: Target;
  readonly destination: Target;
}

async function jobOf(call: Call): Promise<Job> {
  const namespace = call.flags.text("namespace");
  if (!namespace) throw new CliError("must specify namespace by -n or --namespace");
  const destinationType = (call.words[0] ?? "").toLowerCase();
  if (!["cloneset", "clonesets", "clone"].includes(destinationType.split(".")[0] ?? "")) {
    throw new CliError("currently only supported CloneSet as dst type");
  }
  const sourceType = call.flags.required("from").toLowerCase();
  if (!["deployment", "deployments", "deploy"].includes(sourceType)) {
    throw new CliError("currently only supported Deployment as src type");
  }
  const access = await call.cluster();
  const [source, destination] = await Promise.all([
    access.types.find("deployments.apps"),
    access.types.find("clonesets.apps.kruise.io"),
  ]);
  return {
    access,
    source: { type: source, ref: { namespace, name: call.flags.required("src-name") } },
    destination: { type: destination, ref: { namespace, name: call.flags.required("dst-name") } },
  };
}

async function createCloneSet(call: Call, { access, source, destination }: Job): Promise<void> {
  const deployment = await access.client.get(objectResource(source.type), source.ref);
  const body = cloneSetOf(deployment, destination, call.flags.on("copy") ? undefined : 0);
  await access.client.create(objectResource(destination.type), destination.ref.namespace, body, {
    fieldManager,
  });
  call.print(`Successfully created from Deployment/${source.ref.name} to CloneSet/${destination.ref.name}`);
}

/** The same selector and template; budgets of a Deployment mean the same on a CloneSet. */
function cloneSetOf(deployment: AnyObject, destination: Target, replicas: number | undefined): object {
  const { type, ref } = destination;
  const {
    "deployment.kubernetes.io/revision": _,
    "kubectl.kubernetes.io/last-applied-configuration": __,
    ...annotations
  } = deployment.metadata.annotations ?? {};
  const optional: Record<string, unknown> = {};
  for (const field of ["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"]) {
    const value = numberAt(deployment, "spec", field);
    if (value !== undefined) optional[field] = value;
  }
  return {
    apiVersion: `${type.group}/${type.version}`,
    kind: type.kind,
    metadata: { ...ref, labels: deployment.metadata.labels ?? {}, annotations },
    spec: {
      replicas: replicas ?? numberAt(deployment, "spec", "replicas") ?? 1,
      selector: at(deployment, "spec", "selector"),
      template: at(deployment, "spec", "template"),
      ...optional,
    },
  };
}

async function moveReplicas(call: Call, { access, source, destination }: Job): Promise<void> {
  const { client } = access;
  const surge = call.flags.integer("max-surge", 1) ?? 1;
  const available = numberAt(await readScale(client, source), "spec", "replicas") ?? 0;
  const total = call.flags.integer("replicas", 1) ?? available;
  if (total > available)
    throw new CliError(`Deployment/${source.ref.name} has ${available} replicas, ${total} shall move`);
  const wait = waiterOf(call, client, destination);
  let left = total;
  let moved = 0;
  while (left > 0) {
    const step = Math.min(surge, left);
    await addReplicas(client, destination, step);
    call.print(progress(source, moved, destination, moved + step));
    await wait();
    await addReplicas(client, source, -step);
    moved += step;
    left -= step;
    call.print(progress(source, moved, destination, moved));
  }
  call.print(
    `Successfully migrated ${moved} replicas from Deployment/${source.ref.name} to CloneSet/${destination.ref.name}`,
  );
}

function progress(source: Target, scaledIn: number, destination: Target, scaledOut: number): string {
  return `Migration progress: Deployment/${source.ref.name} scale in ${scaledIn}, CloneSet/${destination.ref.name} scale out ${scaledOut}`;
}

/** Changes replicas by a number, against the version that was read. */
async function addReplicas(client: Client, target: Target, by: number): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const seen = await readScale(client, target);
    const replicas = (numberAt(seen, "spec", "replicas") ?? 0) + by;
    if (replicas < 0)
      throw new CliError(
        `${target.type.kind}/${target.ref.name} was scaled in by somebody else; stopped here`,
      );
    try {
      await writeScale(client, target, replicas, seen);
      return;
    } catch (error) {
      if (!isKubeError(error, "Conflict") || attempt === 5) throw error;
    }
  }
}

/** Waits until every replica of the CloneSet is available. Throws CliError at the deadline. */
function waiterOf(call: Call, client: Client, target: Target): () => Promise<void> {
  const { clock } = call.host;
  const seconds = call.flags.integer("timeout-seconds", -1) ?? -1;
  const deadline = seconds < 0 ? Number.POSITIVE_INFINITY : clock.monotonic() + seconds * 1000;
  return async () => {
    for (;;) {
      const object = await client.get(objectResource(target.type), target.ref);
      if (isAvailable(object)) return;
      if (clock.monotonic() >= deadline)
        throw new CliError(`CloneSet/${target.ref.name} was not available after ${seconds} s`);
      await clock.sleep(pollMs, call.io.signal);
    }
  };
}

function isAvailable(object: AnyObject): boolean {
  const isObserved = countAt(object, "status", "observedGeneration") >= (object.metadata.generation ?? 0);
  return (
    isObserved &&
    countAt(object, "status", "availableReplicas") >= (numberAt(object, "spec", "replicas") ?? 1)
  );
}
