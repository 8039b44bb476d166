/** `refit create broadcastJob` and `refit create job`: a run now, of an image or of a cron job. Spec platform 8. */
import { textFlag } from "../arguments.ts";
import type { Call, ClusterAccess, Command } from "../command.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, fieldsAt, textsAt } from "../fields.ts";
import { dryRunFlag, outputFlag } from "../global_flags.ts";
import { dryRunOf, printResult } from "../result.ts";
import { oneTarget, readTarget } from "../target.ts";
import { createObject } from "../write.ts";

interface JobForm {
  /** Word after `create`. */
  readonly word: string;
  readonly group: string;
  readonly kind: string;
  /** Where a cron job keeps what it starts. */
  readonly templates: readonly (readonly string[])[];
}

const broadcast: JobForm = {
  word: "broadcastJob",
  group: "apps.kruise.io",
  kind: "BroadcastJob",
  templates: [["spec", "template", "broadcastJobTemplate"]],
};
const builtin: JobForm = {
  word: "job",
  group: "batch",
  kind: "Job",
  templates: [
    ["spec", "template", "jobTemplate"],
    ["spec", "jobTemplate"],
  ],
};

export const createBroadcastJob = commandOf(broadcast, "Run a pod to its end on each suitable node, now.");
export const createBroadcastJobShort = commandOf({ ...broadcast, word: "bcj" }, createBroadcastJob.summary);
export const createJob = commandOf(builtin, "Start a Job now, of an image or of a cron job.");

function commandOf(form: JobForm, summary: string): Command {
  return {
    name: `create ${form.word}`,
    summary,
    usage: "NAME (--image IMAGE [-- COMMAND...] | --from acj/NAME)",
    arguments: { most: 1 },
    runsCommand: true,
    examples: [
      `refit create ${form.word} once --image busybox:1.34 -- date`,
      `refit create ${form.word} once --from acj/nightly`,
    ],
    flags: {
      image: textFlag("IMAGE", "Image to run."),
      from: textFlag("TYPE/NAME", "Cron job whose template is run."),
      ...dryRunFlag,
      ...outputFlag,
    },
    run: (call) => create(call, form),
  };
}

async function create(call: Call, form: JobForm): Promise<number> {
  const [name] = call.words;
  if (name === undefined) throw new CliError("exactly one NAME is required");
  const image = call.flags.text("image");
  const from = call.flags.text("from");
  if (image === undefined && from === undefined) {
    throw new CliError("either --image or --from must be specified");
  }
  if (image !== undefined && from !== undefined) {
    throw new CliError("--image and --from cannot be used together");
  }
  if (from !== undefined && call.rest !== undefined) {
    throw new CliError("a command cannot be given with --from: the template has its own");
  }
  const access = await call.cluster();
  const type = await access.types.findKind(form.group, form.kind);
  if (type === undefined) throw new CliError(`the server does not serve ${form.kind} of ${form.group}`);
  const body =
    from === undefined ? ofImage(image ?? "", call.rest) : await ofCronJob(call, access, from, form);
  const job: AnyObject = {
    ...body,
    apiVersion: `${type.group}/${type.version}`,
    kind: type.kind,
    metadata: { ...body.metadata, name, namespace: access.namespace },
  };
  const dryRun = dryRunOf(call);
  printResult(call, type, await createObject(access, type, job, dryRun), "created", dryRun);
  return 0;
}

function ofImage(image: string, command: readonly string[] | undefined): AnyObject {
  const container = {
    name: "main",
    image,
    ...(command === undefined || command.length === 0 ? {} : { command: [...command] }),
  };
  return {
    metadata: {},
    spec: { template: { spec: { restartPolicy: "Never", containers: [container] } } },
  };
}

/** What the cron job would start, marked as started by hand; it counts among the cron job's children. */
async function ofCronJob(call: Call, access: ClusterAccess, from: string, form: JobForm): Promise<AnyObject> {
  const cron = await readTarget(access, await oneTarget(call, [from]));
  const path = form.templates.find((each) => Object.keys(fieldsAt(cron, ...each)).length > 0);
  if (path === undefined) throw new CliError(`${from} has no template of a ${form.kind}`);
  const { name = "", uid = "" } = cron.metadata;
  const labels = textsAt(cron, ...path, "metadata", "labels");
  return {
    metadata: {
      ...(Object.keys(labels).length === 0 ? {} : { labels }),
      annotations: {
        ...textsAt(cron, ...path, "metadata", "annotations"),
        "cronjob.kubernetes.io/instantiate": "manual",
      },
      ownerReferences: [
        { apiVersion: cron.apiVersion ?? "", kind: cron.kind ?? "", name, uid, controller: true },
      ],
    },
    spec: fieldsAt(cron, ...path, "spec"),
  };
}
