/** All commands, in the order of the overview. */

import { agent } from "./agent/command.ts";
import { completeCommand, completion } from "./completion/commands.ts";
import { controller } from "./controller/command.ts";
import type { CommandGroup } from "./help.ts";
import { install, manifests, uninstall } from "./install/commands.ts";
import { logs } from "./logs/command.ts";
import { migrateCheck, migrateCluster } from "./migrate/commands.ts";
import { createBroadcastJob, createBroadcastJobShort, createJob } from "./objects/create_job.ts";
import { createRecreateRequest, createRecreateRequestShort } from "./objects/create_recreate_request.ts";
import { expose } from "./objects/expose.ts";
import { get } from "./objects/get.ts";
import { migrate } from "./objects/migrate.ts";
import { exec, passThrough } from "./objects/pass_through.ts";
import { scale } from "./objects/scale.ts";
import { scaledown } from "./objects/scaledown.ts";
import { setEnv, setImage, setResources } from "./objects/set.ts";
import { tree } from "./objects/tree.ts";
import { rolloutHistory } from "./rollout/history.ts";
import { rolloutPause, rolloutResume } from "./rollout/pause.ts";
import { rolloutPromote } from "./rollout/promote.ts";
import { rolloutRestart } from "./rollout/restart.ts";
import { rolloutPartition } from "./rollout/set_partition.ts";
import { rolloutStatus } from "./rollout/status.ts";
import { rolloutUndo } from "./rollout/undo.ts";
import { supportBundle } from "./support/command.ts";
import { ui } from "./ui/command.ts";
import { up } from "./up/command.ts";
import { version } from "./version.ts";
import { plan, why } from "./why/commands.ts";

const listed: readonly CommandGroup[] = [
  { title: "Try it", commands: [up] },
  {
    title: "Rollouts",
    commands: [
      rolloutStatus,
      rolloutHistory,
      rolloutUndo,
      rolloutPause,
      rolloutResume,
      rolloutPromote,
      rolloutPartition,
      rolloutRestart,
      why,
      plan,
      ui,
    ],
  },
  {
    title: "Workloads",
    commands: [
      get,
      tree,
      scale,
      scaledown,
      setImage,
      setEnv,
      setResources,
      migrate,
      expose,
      createBroadcastJobShort,
    ],
  },
  {
    title: "The controller and the agent",
    commands: [controller, agent, install, uninstall, manifests, migrateCheck, migrateCluster, supportBundle],
  },
  { title: "Pods", commands: [exec, logs, createRecreateRequestShort] },
  { title: "This program", commands: [completion, version] },
  // The long name is that of the other plugin; the overview has room for the short one.
  {
    title: "By kubectl, with the same words",
    commands: [...passThrough, createRecreateRequest, createBroadcastJob, createJob],
    isBrief: true,
  },
];

export const commandGroups: readonly CommandGroup[] = [
  ...listed,
  { title: "For shells", commands: [completeCommand(listed)], isHidden: true },
];
