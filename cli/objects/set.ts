/** `set image`, `set env`, `set resources`: kubectl's semantics for every kind with a pod template. */

import { applyJsonPatch } from "../../kube/core/index.ts";
import { type FlagTable, switchFlag, textFlag } from "../arguments.ts";
import { causeOfCommand } from "../change_cause.ts";
import type { Call, Command } from "../command.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, isAnyObject } from "../fields.ts";
import { dryRunFlag, outputFlag } from "../global_flags.ts";
import { readManifests } from "../manifest_input.ts";
import type { ResourceType } from "../resource_types.ts";
import { dryRunOf, outputFormat, printResult, renderObject } from "../result.ts";
import { readTarget, type Target, targetsOf } from "../target.ts";
import { changeObject } from "../write.ts";
import { envChange } from "./set_env.ts";
import { imageChange } from "./set_image.ts";
import { resourcesChange } from "./set_resources.ts";
import { containersOf, type TemplateChange } from "./template.ts";

const commonFlags: FlagTable = {
  local: switchFlag("Change the manifest of -f only; nothing is sent. Prints YAML unless -o says otherwise."),
  filename: textFlag("FILE", "Manifest with the objects; - reads standard input.", {
    short: "f",
    repeated: true,
  }),
  ...dryRunFlag,
  ...outputFlag,
};

export const setImage: Command = {
  name: "set image",
  summary: "Change container images.",
  usage: "TYPE/NAME CONTAINER=IMAGE...",
  examples: ["refit set image clone/sample nginx=nginx:1.21", "refit set image clone/sample '*=nginx:1.21'"],
  flags: commonFlags,
  run: (call) => runSet(call, imageChange(call.words)),
};

export const setEnv: Command = {
  name: "set env",
  summary: "Change, add or remove environment variables.",
  usage: "TYPE/NAME NAME=VALUE... NAME-... [-c CONTAINER] [--list]",
  examples: ["refit set env clone/sample LEVEL=debug OLD-", "refit set env clone/sample --list"],
  flags: {
    containers: textFlag("PATTERN", "Containers to change.", { short: "c", default: "*" }),
    list: switchFlag("Print the variables and change nothing."),
    ...commonFlags,
  },
  run: (call) => runSet(call, envChange(call)),
};

export const setResources: Command = {
  name: "set resources",
  summary: "Change requests and limits.",
  usage: "TYPE/NAME [--limits cpu=200m,memory=512Mi] [--requests ...] [-c CONTAINER]",
  examples: ["refit set resources clone/sample -c nginx --limits cpu=200m,memory=512Mi"],
  flags: {
    containers: textFlag("PATTERN", "Containers to change.", { short: "c", default: "*" }),
    limits: textFlag("R=N,...", "Limits; an amount of 0 removes one.", { repeated: true }),
    requests: textFlag("R=N,...", "Requests; an amount of 0 removes one.", { repeated: true }),
    ...commonFlags,
  },
  run: (call) => runSet(call, resourcesChange(call)),
};

async function runSet(call: Call, change: TemplateChange): Promise<number> {
  const files = call.flags.all("filename");
  if (call.flags.on("local")) {
    if (files.length === 0) throw new CliError("--local needs a manifest: name it with -f");
    for (const object of await readManifests(call, files)) changeLocally(call, object, change);
    return 0;
  }
  const words = files.length > 0 ? (await readManifests(call, files)).map(wordOf) : change.objectWords;
  for (const target of await targetsOf(call, words)) await changeTarget(call, target, change);
  return 0;
}

async function changeTarget(call: Call, target: Target, change: TemplateChange): Promise<void> {
  const access = await call.cluster();
  const object = await readTarget(access, target);
  const operations = change.operations(containersOf(target.type, object));
  // Nothing to say when the object has these values already, as kubectl does.
  if (operations.length === 0) {
    if (outputFormat(call) !== undefined) printResult(call, target.type, object, change.did);
    return;
  }
  const dryRun = dryRunOf(call);
  const written = await changeObject(access, target, object, {
    operations: [...operations, ...causeOfCommand(object, call.commandLine)],
    dryRun,
  });
  printResult(call, target.type, written, change.did, dryRun);
}

function changeLocally(call: Call, object: AnyObject, change: TemplateChange): void {
  const operations = change.operations(containersOf(localType(object), object));
  const cause = operations.length === 0 ? [] : causeOfCommand(object, call.commandLine);
  const changed = applyJsonPatch(object, [...operations, ...cause]);
  if (!isAnyObject(changed)) return;
  const format = outputFormat(call) ?? "yaml";
  if (format === "name") printResult(call, localType(object), changed, change.did);
  else call.io.stdout.write(`${format === "yaml" ? "---\n" : ""}${renderObject(changed, format)}`);
}

function groupOf(object: AnyObject): string {
  const apiVersion = object.apiVersion ?? "";
  return apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
}

/** A type for messages only: nothing is asked of a server. */
function localType(object: AnyObject): ResourceType {
  const kind = object.kind ?? "";
  const singular = kind.toLowerCase();
  return {
    group: groupOf(object),
    version: "",
    plural: `${singular}s`,
    singular,
    kind,
    shortNames: [],
    namespaced: true,
  };
}

function wordOf(object: AnyObject): string {
  const group = groupOf(object);
  const kind = (object.kind ?? "").toLowerCase();
  return `${group === "" ? kind : `${kind}.${group}`}/${object.metadata.name ?? ""}`;
}
