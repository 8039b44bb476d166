/** Webhook metrics under the names that dashboards know. Spec: platform 3. */
import Counter from "prom-client/lib/counter.js";
import Histogram from "prom-client/lib/histogram.js";
import type { AdmissionMetrics } from "../../controller/index.ts";
import type { Registry } from "./process.ts";

export function admissionMetrics(registry: Registry): AdmissionMetrics {
  const registers = [registry];
  const requests = new Counter({
    name: "controller_runtime_webhook_requests_total",
    help: "Answered webhook requests by path and HTTP code.",
    labelNames: ["webhook", "code"],
    registers,
  });
  const latency = new Histogram({
    name: "controller_runtime_webhook_latency_seconds",
    help: "Time to answer a webhook request.",
    labelNames: ["webhook"],
    registers,
  });
  return {
    review(path, code, tookMs) {
      requests.inc({ webhook: path, code: String(code) });
      latency.observe({ webhook: path }, tookMs / 1000);
    },
  };
}
