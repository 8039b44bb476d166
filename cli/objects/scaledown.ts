import { isKubeError } from "../../kube/index.ts";
import { textFlag } from "../arguments.ts";
import type { Call, ClusterAccess, Command } from "../command.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, listAt, numberAt } from "../fields.ts";
import { dryRunFlag, outputFlag } from "../global_flags.ts";
import { objectName, objectResource, pluralName } from "../resource_types.ts";
import { type DryRun, dryRunOf, outputFormat, printResult } from "../result.ts";
import { oneTarget, readTarget, type Target } from "../target.ts";
import { changeObject, setOperations } from "../write.ts";

const attempts = 5;

export const scaledown: Command = {
  name: "scaledown",
  summary: "Remove named pods of a CloneSet and lower its replicas by their number.",
  usage: "CloneSet/NAME --pods A,B",
  details: `One write, valid only for the object as it was read: replicas and the list of pods change together, and a
change by somebody else in between makes the command read again.`,
  examples: ["refit scaledown clone/sample --pods sample-4xk2p,sample-9dw7t"],
  flags: {
    pods: textFlag("A,B", "Names of the pods that go.", { repeated: true }),
    ...dryRunFlag,
    ...outputFlag,
  },
  async run(call) {
    const pods = call.flags.list("pods");
    if (pods.length === 0) throw new CliError("name the pods that shall go, with --pods A,B");
    const twice = pods.find((pod, index) => pods.indexOf(pod) !== index);
    if (twice !== undefined) throw new CliError(`pod ${twice} is named twice`);
    const target = await oneTarget(call);
    if (target.type.group !== "apps.kruise.io" || target.type.kind !== "CloneSet") {
      throw new CliError(
        `scaledown is not supported on ${pluralName(target.type)}: only CloneSets choose pods by name`,
      );
    }
    const dryRun = dryRunOf(call);
    const written = await removePods(call, target, pods, dryRun);
    if (outputFormat(call) === undefined)
      call.print(`# ${target.ref.name} delete pods [${pods.join(" ")}] successfully`);
    printResult(call, target.type, written, "selective pod deletion", dryRun);
    return 0;
  },
};

async function removePods(
  call: Call,
  target: Target,
  pods: readonly string[],
  dryRun: DryRun,
): Promise<AnyObject> {
  const access = await call.cluster();
  for (let attempt = 1; ; attempt++) {
    const object = await readTarget(access, target);
    await checkPods(access, target, object, pods);
    const replicas = (numberAt(object, "spec", "replicas") ?? 1) - pods.length;
    if (replicas < 0)
      throw new CliError(
        `${pods.length} pods named, but the CloneSet has ${replicas + pods.length} replicas`,
      );
    const listed = listAt(object, "spec", "scaleStrategy", "podsToDelete");
    const already = pods.find((pod) => listed.includes(pod));
    if (already !== undefined)
      throw new CliError(`pod ${already} is being deleted already: it stands in podsToDelete`);
    const operations = [
      ...setOperations(object, ["spec", "scaleStrategy", "podsToDelete"], [...listed, ...pods]),
      ...setOperations(object, ["spec", "replicas"], replicas),
    ];
    try {
      return await changeObject(access, target, object, { operations, dryRun });
    } catch (error) {
      if (!isKubeError(error, "Conflict") || attempt === attempts) throw error;
    }
  }
}

/** A name that is not a pod of this CloneSet would lower replicas and remove some other pod. */
async function checkPods(
  access: ClusterAccess,
  target: Target,
  owner: AnyObject,
  pods: readonly string[],
): Promise<void> {
  const type = await access.types.find("pods");
  await Promise.all(
    pods.map(async (name) => {
      const pod = await access.client.get(objectResource(type), { ...target.ref, name });
      const isOwned =
        pod.metadata.ownerReferences?.some((reference) => reference.uid === owner.metadata.uid) ?? false;
      if (!isOwned)
        throw new CliError(`pod ${name} does not belong to ${objectName(target.type, target.ref.name)}`);
      if (pod.metadata.deletionTimestamp !== undefined)
        throw new CliError(`pod ${name} is terminating already`);
    }),
  );
}
