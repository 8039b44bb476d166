import { type Client, isKubeError, type Resource } from "../../kube/index.ts";
import { textFlag } from "../arguments.ts";
import type { Call, Command } from "../command.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, numberAt } from "../fields.ts";
import { outputFlag } from "../global_flags.ts";
import { objectCodec } from "../json_codec.ts";
import { objectResource, pluralName } from "../resource_types.ts";
import { printResult } from "../result.ts";
import { readTarget, type Target, targetsOf } from "../target.ts";
import { fieldManager } from "../write.ts";

export const scale: Command = {
  name: "scale",
  summary: "Set the number of pods of a workload.",
  usage: "TYPE/NAME --replicas N [--current-replicas M]",
  examples: [
    "refit scale clone/sample --replicas 5",
    "refit scale asts web --replicas 3 --current-replicas 5",
  ],
  flags: {
    replicas: textFlag("N", "Pods to have."),
    "current-replicas": textFlag("M", "Only when the object asks for this many now."),
    ...outputFlag,
  },
  async run(call) {
    call.flags.required("replicas");
    const replicas = call.flags.integer("replicas", 0, 2 ** 31 - 1) ?? 0;
    for (const target of await targetsOf(call)) await scaleOne(call, target, replicas);
    return 0;
  },
};

async function scaleOne(call: Call, target: Target, replicas: number): Promise<void> {
  const access = await call.cluster();
  const current = await readScale(access.client, target);
  const found = numberAt(current, "spec", "replicas") ?? 0;
  const expected = call.flags.integer("current-replicas", 0);
  if (expected !== undefined && expected !== found) {
    throw new CliError(`Expected replicas to be ${expected}, was ${found}`);
  }
  await writeScale(access.client, target, replicas, expected === undefined ? undefined : current);
  const written = call.flags.text("output") === undefined ? current : await readTarget(access, target);
  printResult(call, target.type, written, "scaled");
}

const scaleResource = (target: Target): Resource<AnyObject> => ({
  ...objectResource(target.type),
  codec: objectCodec("autoscaling/v1", "Scale"),
});

/** The scale subresource. Throws CliError when the kind has none. */
export async function readScale(client: Client, target: Target): Promise<AnyObject> {
  try {
    return await client.get(scaleResource(target), target.ref, { subresource: "scale" });
  } catch (error) {
    if (!isKubeError(error, "NotFound")) throw error;
    // The object itself tells whether it or its scale subresource is missing.
    await client.get(objectResource(target.type), target.ref);
    throw new CliError(
      `${pluralName(target.type)} has no scale subresource: its pods are not counted by replicas`,
      {
        cause: error,
      },
    );
  }
}

/** Sets replicas; with `seen`, only when nobody changed the object since. */
export async function writeScale(
  client: Client,
  target: Target,
  replicas: number,
  seen?: AnyObject,
): Promise<AnyObject> {
  const version = seen?.metadata.resourceVersion;
  const metadata = version === undefined ? {} : { metadata: { resourceVersion: version } };
  const body = { ...metadata, spec: { replicas } };
  return client.patch(
    scaleResource(target),
    target.ref,
    { type: "merge", body },
    { subresource: "scale", fieldManager },
  );
}
