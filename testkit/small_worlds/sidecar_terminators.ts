/** Small worlds of one pod of a job, whose sidecars are to end after its own containers. Spec: sidecarset, sidecar terminator. */
import { type Container, goingOf, nodeOf, podOf, type Role } from "./terminator_node.ts";
import { passOver } from "./terminator_pass.ts";
import type { SidecarScenario, SidecarStage } from "./terminator_world.ts";

/** `mains`: containers that the job is about. */
export function terminatorScenarios(mains: number): SidecarScenario[] {
  const rest = Array.from({ length: mains - 1 }, (_, at) => container(`main-${at + 2}`, "main", [0]));
  const main = (codes: readonly number[]): Container[] => [container("main-1", "main", codes), ...rest];
  const scenario = (
    name: string,
    containers: readonly Container[],
    { restartPolicy = "Never", ...more }: Partial<SidecarScenario> & { restartPolicy?: string } = {},
  ): SidecarScenario => ({
    name: `SidecarTerminator ${name}`,
    pod: podOf("pod-1", restartPolicy, containers),
    containers,
    isVirtual: false,
    isDeaf: false,
    hasNode: true,
    stages: [],
    end: "completed",
    pass: passOver,
    ...more,
  });
  const well = main([0]);
  const side = container("side", "sidecar", []);
  const other = container("other", "sidecar", []);
  const early = container("early", "sidecar", [0]);
  const late = container("late", "ignored", [], 137);
  const later = container("later", "ignored", [], 137);
  const byImage = container("image", "by image", []);
  const onFailure = { restartPolicy: "OnFailure" };
  const left = { end: "left" } as const;
  return [
    scenario("of one sidecar", [...well, side]),
    scenario("of two sidecars", [...well, side, other]),
    scenario("of two sidecars, one of which may end by itself", [...well, side, early]),
    scenario("of a job that fails", [...main([1]), side]),
    scenario("of a job that is tried again", [...main([1, 0]), side], onFailure),
    scenario("of a job that goes on", [...main([]), side], left),
    scenario("of a job that goes on after a failure", [...main([1]), side], { ...onFailure, ...left }),
    scenario("of a pod that always restarts", [...well, side], { restartPolicy: "Always", ...left }),
    scenario("of a sidecar that fails when it is stopped", [...well, container("side", "sidecar", [], 143)]),
    // Weaknesses: it is started again, and not stopped once more.
    scenario("of a sidecar that is started again", [...well, container("side", "sidecar", [], 143)], {
      ...onFailure,
      ...left,
    }),
    scenario("of a sidecar whose code is ignored", [...well, late]),
    scenario("of two sidecars whose codes are ignored", [...well, late, later]),
    scenario("of both sorts", [...well, side, late]),
    scenario("of both sorts in a job that fails", [...main([1]), side, late]),
    scenario("of both sorts in a job that is tried again", [...main([1, 0]), side, late], onFailure),
    scenario("of both sorts under a kubelet that tells nothing", [...well, side, late], { isDeaf: true }),
    scenario("by image", [...well, byImage, container("image-2", "by image", [])], { isVirtual: true }),
    scenario("by image in a job that is tried again", [...main([1, 0]), byImage], {
      isVirtual: true,
      ...onFailure,
    }),
    scenario("by image where an agent is", [...well, byImage], left),
    scenario("where no agent is", [...well, side], { isVirtual: true, ...left }),
    scenario("of a pod whose node comes late", [...well, side], {
      hasNode: false,
      stages: [people("the node", () => ({ node: nodeOf(false) }))],
    }),
    scenario("of a pod that is deleted meanwhile", [...well, side, late], { stages: [deleted], end: "gone" }),
    scenario("of a pod that is deleted, and made again", [...well, side], {
      stages: [
        deleted,
        people("again", ({ pod }) =>
          pod === undefined ? { pod: podOf("pod-2", "Never", [...well, side]) } : undefined,
        ),
      ],
    }),
  ];
}

function container(name: string, role: Role, codes: readonly number[], stoppedCode = 0): Container {
  return { name, role, codes, stoppedCode };
}

function people(name: string, change: SidecarStage["change"]): SidecarStage {
  return { name, change };
}

const deleted = people("deleted", ({ pod }) => (pod === undefined ? {} : { pod: goingOf(pod) }));
