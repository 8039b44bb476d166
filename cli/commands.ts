/** All commands, in the order of the overview. */
import type { CommandGroup } from "./help.ts";
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
import { rolloutRestart } from "./rollout/restart.ts";
import { rolloutStatus } from "./rollout/status.ts";
import { rolloutUndo } from "./rollout/undo.ts";

export const commandGroups: readonly CommandGroup[] = [
  {
    title: "Rollouts",
    commands: [rolloutStatus, rolloutHistory, rolloutUndo, rolloutPause, rolloutResume, rolloutRestart],
  },
  {
    title: "Workloads",
    commands: [get, tree, scale, scaledown, setImage, setEnv, setResources, migrate, expose],
  },
  { title: "Pods and kubectl", commands: [exec, ...passThrough] },
];
