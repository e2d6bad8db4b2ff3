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

  function draw(plot) {
    const figure = figureOf(plot), slider = one("input", plot);
    let data = figure.data;
    if (slider) {
      data = data.map((trace) => (trace.customdata ? until(trace, Number(slider.value)) : trace));
      if (chosen[plot]) data.push(ring(chosen[plot]));
    }
    const layout = { ...figure.layout, dragmode: mouse ? "zoom" : false };
    drawn.add(plot);
    return Plotly.react(document.getElementById(plot), data, layout, config);
  }

  const ring = (at) => ({
    type: "scatter", mode: "markers", x: [at.x], y: [at.y], hoverinfo: "skip", showlegend: false,
    marker: { symbol: "circle-open", size: 17, color: "#c0002a", line: { width: 2.5 } },
  });

  function pick(plot, point) {
    const [generation, member, score] = point.customdata;
    chosen[plot] = { x: point.x, y: point.y };
    const place = one("div.picked", plot), text = document.createElement("p");
    text.textContent = `Generation ${generation}, member ${member}: score ${short(score)}, ` +
      `behavior (${short(point.x)}, ${short(point.y)}).`;
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
