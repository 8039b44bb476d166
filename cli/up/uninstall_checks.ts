/**
 * `refit uninstall --check` in a container, as the chart asks it in a Job before it removes anything. Containers run no programs
 * here, so it is run for them: a rehearsal must refuse what a real cluster refuses.
 */
import {
  type Cluster,
  exitAnnotation,
  keyOfContainer,
  logAnnotation,
  longestAnnotation,
  type StoredObject,
} from "../../sandbox/index.ts";
import { listAt, textAt } from "../fields.ts";
import { clip } from "../text_table.ts";

export interface CheckResult {
  readonly code: number;
  /** What the container's log says. */
  readonly said: string;
}

/** Returns what ends it. `check` must not throw. */
export function answerUninstallChecks(
  cluster: Pick<Cluster, "subscribe" | "update">,
  check: () => Promise<CheckResult>,
): () => void {
  return cluster.subscribe("pods", ({ type, object }) => {
    if (type !== "ADDED") return;
    for (const container of checking(object))
      void check().then((result) => endContainer(cluster, object, container, result));
  });
}

/** Names of containers that ask. */
function checking(pod: StoredObject): string[] {
  return listAt(pod, "spec", "containers")
    .filter((container) => {
      const words = [...listAt(container, "command"), ...listAt(container, "args")];
      return words.some((word) => String(word).endsWith("/refit.mjs")) && words.includes("--check");
    })
    .flatMap((container) => textAt(container, "name") ?? []);
}

function endContainer(
  cluster: Pick<Cluster, "update">,
  { metadata: { namespace, name = "" } }: StoredObject,
  container: string,
  { code, said }: CheckResult,
): void {
  cluster.update("pods", { namespace, name }, (pod) => {
    pod.metadata.annotations = {
      ...pod.metadata.annotations,
      [keyOfContainer(container, exitAnnotation.name)]: String(code),
      [keyOfContainer(container, logAnnotation.name)]: clip(said, longestAnnotation),
    };
  });
}
