import fc from "fast-check";
import t from "tap";
import { parsedMetrics } from "../testkit/kube/parsed_metrics.ts";
import type { Labels } from "./core/index.ts";
import { labelsText, metricLabels, metricsText } from "./metrics_text.ts";

interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

const family = (samples: readonly Sample[], name = "a_b", help = "Help.") => ({
  name,
  help,
  samples: () => samples.map(({ labels, value }) => ({ labels: labelsText(labels), value })),
});

t.test("a family has its help, its type and its samples", async (t) => {
  const text = metricsText([
    family([
      { labels: { namespace: "shop", name: "web" }, value: 3 },
      { labels: {}, value: -1 },
    ]),
  ]);
  t.equal(text, '# HELP a_b Help.\n# TYPE a_b gauge\na_b{namespace="shop",name="web"} 3\na_b -1\n');
});

t.test("families of a name are written together, and those without samples not at all", async (t) => {
  const one = family([{ labels: { at: "1" }, value: 1 }]);
  const other = family([{ labels: {}, value: 5 }], "c");
  const text = metricsText([one, family([], "d"), other, family([{ labels: { at: "2" }, value: 2 }])]);
  t.equal(
    text,
    '# HELP a_b Help.\n# TYPE a_b gauge\na_b{at="1"} 1\na_b{at="2"} 2\n# HELP c Help.\n# TYPE c gauge\nc 5\n',
  );
});

t.test("whatever labels and help hold, it is read as it was", async (t) => {
  const hostile = fc.string({
    unit: fc.constantFrom("\\", '"', "\n", "{", "}", ",", "=", " ", "a", "é", "#"),
  });
  const values = fc.dictionary(fc.constantFrom("x", "y"), hostile);
  fc.assert(
    fc.property(values, fc.integer(), hostile, (labels, value, help) => {
      const read = parsedMetrics(metricsText([family([{ labels, value }], "a_b", help)]));
      const filled = Object.fromEntries(Object.entries(labels).filter(([, text]) => text !== ""));
      t.strictSame(read, [{ name: "a_b", help, type: "gauge", samples: [{ labels: filled, value }] }]);
    }),
  );
});

t.test("what is no number is no sample", async (t) => {
  const text = metricsText([
    family([
      { labels: { at: "1" }, value: 2 },
      { labels: { at: "2" }, value: Number.NaN },
      { labels: { at: "3" }, value: JSON.parse('"1\\nmade_up 5"') },
    ]),
  ]);
  t.strictSame(parsedMetrics(text)[0]?.samples, [{ labels: { at: "1" }, value: 2 }]);
});

t.test("labels of objects become labels of metrics", async (t) => {
  t.strictSame(metricLabels({ "app.kubernetes.io/name": "web", controlPlane: "x" }), {
    label_app_kubernetes_io_name: "web",
    label_control_plane: "x",
  });
  t.strictSame(metricLabels({ "a.b": "1", "a-b": "2", a_b_conflict1: "3" }), {
    label_a_b_conflict1: "3",
    label_a_b_conflict2: "1",
  });
});
