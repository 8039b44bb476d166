// Draws the plots of a result page in the browser; `uPlot` is inlined before it.
(() => {
  const uPlot = globalThis.uPlot;
  const { podStates, runs } = JSON.parse(document.getElementById("data").textContent);
  const plots = [];
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const lineColours = ["updating", "starting", "ready", "terminating", "finished", "pending"];
  const colourOf = (index) => () => style(lineColours[index % lineColours.length]);
  const round = (value, digits) => (value === null || value === undefined ? "–" : value.toFixed(digits));

  function axis(label, more) {
    return {
      label,
      labelSize: 22,
      size: 56,
      font: "12px system-ui, sans-serif",
      labelFont: "12px system-ui, sans-serif",
      stroke: () => style("faint"),
      grid: { stroke: () => style("line"), width: 1 },
      ticks: { stroke: () => style("line"), width: 1 },
      ...more,
    };
  }

  function figure(parent, caption, options, data) {
    const box = document.createElement("figure");
    const words = document.createElement("figcaption");
    words.textContent = caption;
    box.append(words);
    box.setAttribute("aria-label", caption);
    parent.append(box);
    const width = () => Math.max(240, box.clientWidth - 26);
    const plot = new uPlot(
      { width: width(), height: 260, cursor: { drag: { setScale: true } }, ...options },
      data,
      box,
    );
    new ResizeObserver(() => plot.setSize({ width: width(), height: 260 })).observe(box);
    plots.push(plot);
  }

  const seconds = axis("seconds since the change", { size: 40 });
  const withUnit = (value, digits, unit) =>
    value === null || value === undefined ? "–" : `${round(value, digits)} ${unit}`;
  const x = (label) => ({ label, value: (_plot, value) => withUnit(value, 2, "s") });

  // Share of the pods that had arrived after so many seconds, all phases in one.
  function arrivals(parent, run) {
    const phases = run.phases.filter((phase) => phase.readyMs.length > 0);
    if (phases.length === 0) return;
    const shares = phases.map(({ readyMs }) => [
      [0, ...readyMs.map((ms) => ms / 1000)],
      [0, ...readyMs.map((_ms, index) => ((index + 1) / readyMs.length) * 100)],
    ]);
    const data = uPlot.join(shares);
    const series = phases.map(({ name }, index) => ({
      label: name,
      stroke: colourOf(index),
      width: 2,
      spanGaps: true,
      points: { show: false },
      paths: uPlot.paths.stepped({ align: 1 }),
      value: (_plot, value) => (value === null ? "–" : `${round(value, 0)} %`),
    }));
    figure(
      parent,
      "Pods that have arrived, by the time since the change",
      {
        scales: { x: { time: false }, y: { range: [0, 100] } },
        axes: [seconds, axis("% of the pods")],
        series: [x("time"), ...series],
      },
      data,
    );
  }

  // From the bottom up. A phase with a new revision has its ready pods at the bottom and the former ones on top.
  function bands({ series: { pods, readyAtNew } }) {
    const states = podStates.map((state) => ({ label: state, colour: state, counts: pods[state] }));
    if (readyAtNew === undefined) return states;
    const [ready, ...others] = states;
    const former = ready.counts.map((count, at) => count - readyAtNew[at]);
    return [
      { label: "ready, new revision", colour: "ready", counts: readyAtNew },
      ...others,
      { label: "ready, old revision", colour: "former", counts: former },
    ];
  }

  // Stacked: each area is drawn over the next larger sum.
  function states(parent, phase) {
    const shown = bands(phase).filter(({ counts }) => counts.some((count) => count > 0));
    const sums = [];
    shown.forEach(({ counts }, index) => {
      sums.push(counts.map((count, at) => count + (sums[index - 1]?.[at] ?? 0)));
    });
    const series = shown
      .map(({ label, colour, counts }) => ({
        label,
        stroke: () => style(colour),
        fill: () => style(colour),
        width: 1,
        points: { show: false },
        paths: uPlot.paths.stepped({ align: 1 }),
        value: (_plot, _value, _series, at) => (at === null ? "–" : withUnit(counts[at], 0, "pods")),
      }))
      .reverse();
    figure(
      parent,
      `Pods by state${phase.series.readyAtNew === undefined ? "" : " and revision"}: ${phase.name}`,
      {
        scales: { x: { time: false }, y: { range: (_plot, _low, high) => [0, Math.max(1, high)] } },
        axes: [seconds, axis("pods")],
        series: [x("time"), ...series],
      },
      [phase.series.atMs.map((ms) => ms / 1000), ...sums.reverse()],
    );
  }

  // What is out of service, and how much may be.
  function unavailability(parent, phase) {
    const { atMs, unavailable } = phase.series;
    if (unavailable === undefined || phase.maxUnavailable === null) return;
    const line = { width: 2, points: { show: false }, value: (_plot, value) => withUnit(value, 0, "pods") };
    figure(
      parent,
      `Pods out of service: ${phase.name}`,
      {
        scales: { x: { time: false }, y: { range: (_plot, _low, high) => [0, Math.max(1, high) * 1.1] } },
        axes: [seconds, axis("pods")],
        series: [
          x("time"),
          { label: "budget", stroke: () => style("terminating"), dash: [6, 4], ...line },
          {
            label: "out of service",
            stroke: () => style("updating"),
            paths: uPlot.paths.stepped({ align: 1 }),
            ...line,
          },
        ],
      },
      [atMs.map((ms) => ms / 1000), atMs.map(() => phase.maxUnavailable), unavailable],
    );
  }

  function memory(parent, phase) {
    const { atMs, residentMb, queueDepth } = phase.series;
    const hasDepth = queueDepth.some((depth) => depth !== null);
    const line = { width: 2, points: { show: false }, spanGaps: true };
    figure(
      parent,
      `Manager's memory${hasDepth ? " and queue depth" : ""}: ${phase.name}`,
      {
        scales: {
          x: { time: false },
          y: { range: (_plot, _low, high) => [0, (high ?? 1) * 1.15] },
          depth: { range: (_plot, _low, high) => [0, Math.max(4, (high ?? 0) * 1.15)] },
        },
        axes: [
          seconds,
          axis("MB resident"),
          ...(hasDepth
            ? [axis("keys in the queue", { scale: "depth", side: 1, grid: { show: false } })]
            : []),
        ],
        series: [
          x("time"),
          {
            label: "memory",
            stroke: () => style("updating"),
            ...line,
            value: (_plot, value) => withUnit(value, 0, "MB"),
          },
          ...(hasDepth
            ? [
                {
                  label: "queue",
                  scale: "depth",
                  stroke: () => style("terminating"),
                  ...line,
                  value: (_plot, value) => withUnit(value, 0, "keys"),
                },
              ]
            : []),
        ],
      },
      [atMs.map((ms) => ms / 1000), residentMb, ...(hasDepth ? [queueDepth] : [])],
    );
  }

  // One line a manager and phase, one point a size; runs of one size are averaged.
  function scaling(parent, scenario) {
    const some = runs.filter((run) => run.scenario === scenario);
    const sizes = [...new Set(some.map((run) => run.pods))].sort((a, b) => a - b);
    if (sizes.length < 2) return false;
    const labels = [...new Set(some.map((run) => run.label))];
    const names = [...new Set(some.flatMap((run) => run.phases.map((phase) => phase.name)))];
    const lines = labels.flatMap((label) => names.map((name) => ({ label, name })));
    const curve = (caption, unit, of, digits) => {
      const values = lines.map(({ label, name }) =>
        sizes.map((pods) => {
          const found = some
            .filter((run) => run.label === label && run.pods === pods)
            .flatMap((run) => run.phases.filter((phase) => phase.name === name).map(of))
            .filter((value) => value !== null);
          return found.length === 0 ? null : found.reduce((sum, value) => sum + value, 0) / found.length;
        }),
      );
      const series = lines.map(({ label, name }, index) => ({
        label: labels.length > 1 ? `${label}: ${name}` : name,
        stroke: colourOf(index),
        width: 2,
        points: { show: true, size: 7 },
        spanGaps: true,
        value: (_plot, value) => withUnit(value, digits, unit),
      }));
      figure(
        parent,
        `${scenario}: ${caption}`,
        {
          scales: {
            x: { time: false, distr: 3 },
            y: { range: (_plot, _low, high) => [0, (high ?? 1) * 1.1] },
          },
          axes: [
            axis("pods", {
              size: 40,
              splits: () => sizes,
              filter: (_plot, splits) => splits,
              values: (_plot, splits) => splits.map(String),
            }),
            axis(unit),
          ],
          series: [{ label: "size", value: (_plot, value) => withUnit(value, 0, "pods") }, ...series],
        },
        [sizes, ...values],
      );
    };
    curve("change to last pod arrived", "seconds", (phase) => phase.tookMs / 1000, 2);
    curve("requests a pod", "requests", (phase) => phase.requestsPerPod, 2);
    curve("manager CPU a pod", "milliseconds", (phase) => phase.cpuMsPerPod, 2);
    curve("manager's memory at its peak", "MB", (phase) => phase.peakMb, 0);
    return true;
  }

  const section = document.getElementById("scaling");
  // Shown before it is drawn: a hidden box has no width.
  section.hidden = false;
  const drawn = [...new Set(runs.map((run) => run.scenario))].map((scenario) =>
    scaling(section.querySelector(".plots"), scenario),
  );
  section.hidden = !drawn.includes(true);
  for (const place of document.querySelectorAll(".run")) {
    const run = runs[Number(place.dataset.run)];
    const parent = place.querySelector(".plots");
    arrivals(parent, run);
    for (const phase of run.phases) {
      states(parent, phase);
      unavailability(parent, phase);
      memory(parent, phase);
    }
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const plot of plots) plot.redraw();
  });
})();
