/** `refit create ContainerRecreateRequest`: restart containers of a running pod. Defaults: spec platform 8. */
import { textFlag } from "../arguments.ts";
import type { Call, Command } from "../command.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, listAt, textAt } from "../fields.ts";
import { dryRunFlag, outputFlag } from "../global_flags.ts";
import { objectResource } from "../resource_types.ts";
import { dryRunOf, printResult } from "../result.ts";
import { createObject } from "../write.ts";

export const createRecreateRequest = commandNamed("create ContainerRecreateRequest");
export const createRecreateRequestShort = commandNamed("create crr");

function commandNamed(name: string): Command {
  return {
    name,
    summary: "Restart containers of a running pod, by the agent of its node.",
    usage: "NAME --pod POD [--containers A,B] [-u SECONDS] [-m SECONDS]",
    arguments: { most: 1 },
    examples: ["refit create crr restart-web --pod web-4xk2p --containers nginx"],
    flags: {
      pod: textFlag("POD", "Pod of the containers."),
      containers: textFlag("A,B", "Containers, stopped in this order; else all of the pod.", {
        repeated: true,
      }),
      unreadyGracePeriodSeconds: textFlag("SECONDS", "How long the pod is not ready before the first stop.", {
        short: "u",
        default: "3",
      }),
      minStartedSeconds: textFlag("SECONDS", "How long a new container must run to count as restarted.", {
        short: "m",
        default: "3",
      }),
      ...dryRunFlag,
      ...outputFlag,
    },
    run: create,
  };
}

async function create(call: Call): Promise<number> {
  const [name] = call.words;
  if (name === undefined) throw new CliError("exactly one NAME is required");
  const podName = call.flags.required("pod");
  const access = await call.cluster();
  const { client, namespace, types } = access;
  const type = await types.find("containerrecreaterequests");
  const named = call.flags.list("containers");
  const containers =
    named.length > 0
      ? named
      : containersOf(
          await client.get(objectResource(await types.find("pods")), { namespace, name: podName }),
        );
  const request: AnyObject = {
    apiVersion: `${type.group}/${type.version}`,
    kind: type.kind,
    metadata: { name, namespace },
    spec: {
      podName,
      containers: containers.map((container) => ({ name: container })),
      strategy: {
        failurePolicy: "Fail",
        unreadyGracePeriodSeconds: call.flags.integer("unreadyGracePeriodSeconds", 0),
        minStartedSeconds: call.flags.integer("minStartedSeconds", 0),
      },
      activeDeadlineSeconds: 300,
      ttlSecondsAfterFinished: 1800,
    },
  };
  const dryRun = dryRunOf(call);
  printResult(call, type, await createObject(access, type, request, dryRun), "created", dryRun);
  return 0;
}

function containersOf(pod: AnyObject): string[] {
  const containers = listAt(pod, "spec", "containers");
  return containers.map((container) => textAt(container, "name")).filter((name) => name !== undefined);
}
