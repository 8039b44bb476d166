/** Tables of ingresses, their classes, network policies and runtime classes. */
import type { StoredObject } from "../../cluster.ts";
import { fieldsAt, listAt, objectsAt, textAt, valueAt } from "../../json.ts";
import { at, column, type Printer } from "../printer.ts";
import { labelText, simple } from "./parts.ts";

const shownHosts = 3;

export const networkingPrinters: Readonly<Record<string, Printer>> = {
  "ingresses.networking.k8s.io": simple([
    column("Class", "Who serves it.", (object) => textAt(object, "spec", "ingressClassName") || "<none>"),
    column("Hosts", "Hosts of its rules.", hosts),
    column("Address", "Where it is reached.", (object) =>
      objectsAt(object, "status", "loadBalancer", "ingress")
        .map((one) => textAt(one, "ip") || textAt(one, "hostname"))
        .join(","),
    ),
    column("Ports", "443 when it has certificates.", (object) =>
      listAt(object, "spec", "tls").length > 0 ? "80, 443" : "80",
    ),
  ]),
  "ingressclasses.networking.k8s.io": simple([
    column("Controller", "Who serves the class.", at("spec", "controller")),
    column("Parameters", "Object with its settings.", (object) =>
      parameters(valueAt(object, "spec", "parameters")),
    ),
  ]),
  "networkpolicies.networking.k8s.io": simple([
    column("Pod-Selector", "Pods that it is for.", (object) =>
      labelText(fieldsAt(object, "spec", "podSelector", "matchLabels")),
    ),
  ]),
  "runtimeclasses.node.k8s.io": simple([column("Handler", "Name in the runtime's settings.", at("handler"))]),
};

function hosts(ingress: StoredObject): string {
  const all = objectsAt(ingress, "spec", "rules").map((rule) => textAt(rule, "host"));
  const named = all.filter((host) => host !== "");
  if (named.length === 0) return "*";
  const shown = named.slice(0, shownHosts).join(",");
  return named.length > shownHosts ? `${shown} + ${named.length - shownHosts} more...` : shown;
}

function parameters(reference: unknown): string {
  if (reference === undefined) return "<none>";
  const group = textAt(reference, "apiGroup");
  return `${textAt(reference, "kind")}${group === "" ? "" : `.${group}`}/${textAt(reference, "name")}`;
}
