/** SidecarSets reach the pods that they select, all of them, and no others. */
import { at, isTerminating, listAt, namespaceOf, textAt } from "./fields.ts";
import type { Rule } from "./rule.ts";

const selected = { label: "group", value: "simulated" };

export const injection: Rule = ({ cluster, pod, verb, resource, staleMs }) => {
  if (pod === undefined || verb !== "create" || resource !== "pods") return [];
  const { namespace, labels, name: podName } = pod.now.metadata;
  const names = listAt(pod.now, "spec", "containers").map((container) => textAt(container, "name"));
  return cluster.objects("sidecarsets.apps.kruise.io").flatMap((set) => {
    const { name = "", creationTimestamp } = set.metadata;
    const [sidecar] = listAt(set, "spec", "containers");
    const isHot = at(sidecar, "upgradeStrategy", "hotUpgradeEmptyImage") !== undefined;
    const wanted = `${textAt(sidecar, "name")}${isHot ? "-1" : ""}`;
    const isThere = names.includes(wanted);
    if (namespaceOf(set) !== namespace)
      return isThere ? [`SidecarSet ${name}: ${podName} is in another namespace, and has ${wanted}`] : [];
    const isKnown = cluster.clock.now() - Date.parse(creationTimestamp ?? "") > staleMs + 1_000;
    const isSelected = labels?.[selected.label] === selected.value && isKnown && !isTerminating(set);
    return isSelected && !isThere ? [`SidecarSet ${name}: ${podName} was created without ${wanted}`] : [];
  });
};
