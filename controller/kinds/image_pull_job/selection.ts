/** Which nodes a job is about. Spec: images P4.2. */
import type { ImagePullJob, NodeImage } from "../../../crds/index.ts";
import { compileSelector } from "../../../kube/core/index.ts";
import { type Change, type Pod, sidesOf } from "../../../kube/index.ts";
import { isActive } from "../../rollout/pods/pod_state.ts";

export interface NodeSelection {
  /** Whether the node is meant that this NodeImage, or this Node, stands for. */
  selects(node: { readonly metadata: Pick<NodeImage["metadata"], "name" | "labels"> }): boolean;
  /** Names of nodes beyond which nothing is selected; undefined: any node may be. */
  names(): Iterable<string> | undefined;
}

/** `pods`: for a job with podSelector. Throws ParseError for a selector that admission would have refused. */
export function nodeSelection({ spec }: ImagePullJob, pods: PodNodes | undefined): NodeSelection {
  if (pods !== undefined) {
    return { selects: ({ metadata }) => pods.has(metadata.name ?? ""), names: () => pods.names() };
  }
  const { selector } = spec;
  const listed = selector?.names ?? [];
  if (listed.length > 0) {
    const names = new Set(listed);
    return { selects: ({ metadata }) => names.has(metadata.name ?? ""), names: () => names };
  }
  const compiled = compileSelector(selector ?? {});
  return { selects: ({ metadata }) => compiled.matches(metadata.labels), names: () => undefined };
}

/** Nodes by the number of pods on them that a job selects. */
export class PodNodes {
  readonly #counts = new Map<string, number>();

  constructor(pods: Iterable<Pod>) {
    for (const pod of pods) this.#count(nodeOf(pod), 1);
  }

  has(node: string): boolean {
    return this.#counts.has(node);
  }

  names(): Iterable<string> {
    return this.#counts.keys();
  }

  /** Takes a change of one pod in; returns the nodes for which it may matter. */
  apply(change: Change<Pod>): string[] {
    const sides = sidesOf(change);
    const before = sides.before && nodeOf(sides.before);
    const after = sides.after && nodeOf(sides.after);
    if (before === after) return [];
    this.#count(before, -1);
    this.#count(after, 1);
    return [before, after].filter((node) => node !== undefined);
  }

  #count(node: string | undefined, by: number): void {
    if (node === undefined) return;
    const count = (this.#counts.get(node) ?? 0) + by;
    if (count > 0) this.#counts.set(node, count);
    else this.#counts.delete(node);
  }
}

/** The node of a pod that is scheduled and neither finished nor being deleted. */
function nodeOf(pod: Pod): string | undefined {
  return pod.nodeName !== "" && isActive(pod) ? pod.nodeName : undefined;
}
