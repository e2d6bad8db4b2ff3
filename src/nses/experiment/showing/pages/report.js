// The script of a report: draws plots when they scroll into view, and redraws them on a choice.
"use strict";
(() => {
  const { config, plots } = JSON.parse(document.getElementById("content").textContent);
  const mouse = matchMedia("(pointer: fine)").matches;  // a finger has to scroll the page
  const chosen = {};  // the diamond that a reader has picked, by plot
  const drawn = new Set();
  const hints = new Map();  // what a place shows before a diamond is picked

  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const one = (kind, plot) => document.querySelector(`${kind}[data-plot="${plot}"]`);
  const figureOf = (plot) => plots[plot][one("select", plot)?.value ?? Object.keys(plots[plot])[0]];
  const short = (x) => (x === null || x === undefined ? "none" : String(Number(x.toPrecision(5))));

  function until(trace, generation) {
    const kept = trace.customdata.flatMap((c, i) => (c[0] <= generation ? [i] : []));
    const cut = (values) => kept.map((i) => values[i]);
    return {
      ...trace, x: cut(trace.x), y: cut(trace.y), customdata: cut(trace.customdata),
      marker: { ...trace.marker, color: cut(trace.marker.color) },
    };
  }

  const lists = (plot) => all(`select[data-axes-of="${plot}"]`);

  // The axes that a reader has chosen; undefined if there is nothing to choose.
  function axesOf(plot) {
    const { axes, plane } = figureOf(plot);
    const places = lists(plot).map((list, i) => (list.value === "" ? plane?.[i] : Number(list.value)));
    return axes && places.map((at) => axes.find((axis) => axis.at === at));
  }

  function offer(plot) {
    const { axes, plane } = figureOf(plot);
    all(`[data-choice-of="${plot}"]`).forEach((choice) => (choice.hidden = !axes));
    lists(plot).forEach((list, i) => {
      const entries = (axes ?? []).filter((axis) => i === 0 || axis.at > 0);  // generations only across
      list.replaceChildren(...entries.map((axis) => new Option(axis.name, axis.at)));
      if (axes) list.value = plane[i];
    });
  }

  // The same map along other axes, without the scene, which belongs to the first ones.
  function turned(figure, plot) {
    const axes = axesOf(plot);
    if (!axes || axes.every((axis, i) => axis.at === figure.plane[i])) return figure;
    const [across, up] = axes, { scaleanchor, ...yaxis } = figure.layout.yaxis;
    const side = (axis) => ({ range: [...axis.range], title: { text: axis.title, standoff: 8 } });
    const said = axes.filter((axis) => axis.at).map((axis) => `<br>${axis.title} %{customdata[${axis.at}]:.4g}`);
    return {
      data: figure.data.filter((trace) => trace.meta !== "scene").map((trace) => trace.customdata ? {
        ...trace, x: trace.customdata.map((c) => c[across.at]), y: trace.customdata.map((c) => c[up.at]),
        hovertemplate: trace.hovertemplate.replace(/(:\.5g\}).*(<extra>)/, (_, a, b) => a + said.join("") + b),
      } : trace),
      layout: {
        ...figure.layout, shapes: [], xaxis: { ...figure.layout.xaxis, ...side(across) },
        yaxis: { ...yaxis, ...side(up) }, uirevision: `${figure.layout.uirevision} ${across.at} ${up.at}`,
      },
    };
  }

  function draw(plot) {
    const figure = turned(figureOf(plot), plot), slider = one("input", plot);
    let data = figure.data;
    if (slider) {
      data = data.map((trace) => (trace.customdata ? until(trace, Number(slider.value)) : trace));
      if (chosen[plot]) data.push(ring(spot(plot, chosen[plot])));
    }
    const layout = { ...figure.layout, dragmode: mouse ? "zoom" : false };
    drawn.add(plot);
    return Plotly.react(document.getElementById(plot), data, layout, config);
  }

  const ring = (at) => ({
    type: "scatter", mode: "markers", x: [at.x], y: [at.y], hoverinfo: "skip", showlegend: false,
    marker: { symbol: "circle-open", size: 17, color: "#c0002a", line: { width: 2.5 } },
  });

  // Where a diamond is along the axes that are shown.
  function spot(plot, point) {
    const axes = axesOf(plot);
    return axes ? { x: point.customdata[axes[0].at], y: point.customdata[axes[1].at] } : point;
  }

  // What a diamond is called along each axis: its whole behavior, or as much of it as the page has.
  function behavior(plot, point) {
    const { axes, names } = figureOf(plot);
    const named = axes
      ? axes.map((axis) => [axis.name, point.customdata[axis.at]])
      : [[names[0], point.x], [names[1], point.y]];
    return named.filter(([name]) => name !== "generation").map(([name, x]) => `${name} ${short(x)}`).join(", ");
  }

  function pick(plot, point) {
    const [generation, member, score] = point.customdata;
    chosen[plot] = { x: point.x, y: point.y, customdata: point.customdata };
    const place = one("div.picked", plot), text = document.createElement("p");
    text.textContent = `Generation ${generation}, member ${member}: score ${short(score)}; ` +
      `${behavior(plot, point)}.`;
    if (!hints.has(place)) hints.set(place, [...place.children]);
    place.replaceChildren(text, command(`${figureOf(plot).replay} --generation ${generation}`));
    draw(plot);
  }

  function command(text) {
    const row = document.createElement("div"), code = document.createElement("code");
    const button = document.createElement("button");
    row.className = "command";
    code.textContent = button.dataset.copy = text;
    button.type = "button";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy ${text}`);
    row.append(code, button);
    return row;
  }

  // The diamond of a generation, or of the last generation before it that has one.
  function diamond(plot, generation) {
    let found = null;
    for (const trace of figureOf(plot).data) {
      trace.customdata?.forEach((c, i) => {
        if (c[0] <= generation && (!found || c[0] > found.customdata[0])) {
          found = { customdata: c, x: trace.x[i], y: trace.y[i] };
        }
      });
    }
    return found;
  }

  function slide(plot, generation) {
    const slider = one("input", plot);
    slider.value = generation;
    document.querySelector(`output[for="${slider.id}"]`).value = slider.value;
    const latest = diamond(plot, generation);
    latest ? pick(plot, latest) : draw(plot);
  }

  const playing = {};
  function play(button) {
    const plot = button.dataset.play, slider = one("input", plot), last = Number(slider.max);
    const stop = () => {
      clearTimeout(playing[plot]);
      delete playing[plot];
      button.textContent = "▶ Play";
    };
    if (playing[plot]) return stop();
    button.textContent = "❚❚ Pause";
    let generation = Number(slider.value) >= last ? 0 : Number(slider.value);
    const step = () => {
      generation = Math.min(last, generation + Math.max(1, Math.round(last / 150)));
      slide(plot, generation);
      if (generation >= last) return stop();
      playing[plot] = setTimeout(step, 40);
    };
    playing[plot] = setTimeout(step, 0);
  }

  async function copy(button) {
    const text = button.dataset.copy;
    try {
      await navigator.clipboard.writeText(text);
    } catch {  // some browsers do not allow this for local files
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.dataset.play) play(button);
    if (button?.dataset.copy) copy(button);
  });
  document.addEventListener("input", (event) => {
    const plot = event.target.dataset.plot;
    if (event.target.type === "range") slide(plot, Number(event.target.value));
  });
  document.addEventListener("change", (event) => {
    const plot = event.target.dataset.plot;
    if (event.target.tagName !== "SELECT") return;
    if (event.target.dataset.axesOf) return draw(event.target.dataset.axesOf);
    offer(plot);
    const slider = one("input", plot);
    if (!slider) return draw(plot);
    delete chosen[plot];
    const place = one("div.picked", plot);
    if (hints.has(place)) place.replaceChildren(...hints.get(place));
    slider.max = slider.value = figureOf(plot).last;
    document.querySelector(`output[for="${slider.id}"]`).value = slider.value;
    draw(plot);
  });

  function first(place) {
    if (drawn.has(place.id)) return;
    offer(place.id);
    draw(place.id).then(() => {
      if (one("input", place.id)) {
        place.on("plotly_click", (event) => {
          const point = event.points.find((p) => p.customdata);
          if (point) pick(place.id, point);
        });
      }
    });
  }
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) first(entry.target);
  }, { rootMargin: "400px" });
  all(".canvas").forEach((place) => watch.observe(place));
  addEventListener("beforeprint", () => all(".canvas").forEach(first));
})();
