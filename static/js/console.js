// What a page gains with JavaScript. Nothing here is needed to read a page or to decide.
(function () {
  "use strict";
  const root = document.documentElement;
  const all = (selector, within) => Array.from((within || document).querySelectorAll(selector));

  // --- Times in the reader's zone, UTC on hover -----------------------------------------------------------
  const dayNames = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
  const pad = (number, width) => String(number).padStart(width || 2, "0");
  const clockOf = (at) => `${pad(at.getHours())}:${pad(at.getMinutes())}`;

  function ago(at, now) {
    const seconds = Math.floor(Math.abs(now - at) / 1000);
    if (seconds < 1) return "just now";
    const unit = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]].find(([length]) => seconds >= length);
    const amount = `${Math.floor(seconds / unit[0])} ${unit[1]}`;
    return at <= now ? `${amount} ago` : `in ${amount}`;
  }

  function said(at, style, micros) {
    const seconds = `${clockOf(at)}:${pad(at.getSeconds())}`;
    if (style === "ago") return ago(at, Date.now());
    if (style === "clock") return `${dayNames.format(at)} ${seconds}`;
    const day = `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
    return `${day} ${seconds}.${pad(Math.floor(micros / 1000) % 1000, 3)}`;
  }

  // A tick says the date where a new day begins for the reader, which may be at another hour than in UTC.
  function labelTicks(labels) {
    let day = labels.length ? dayNames.format(new Date(Number(labels[0].dataset.at) / 1000)) : "";
    for (const label of labels) {
      const at = new Date(Number(label.dataset.at) / 1000);
      const seconds = label.textContent.split(":").length === 3 ? `:${pad(at.getSeconds())}` : "";
      const isNewDay = dayNames.format(at) !== day;
      day = dayNames.format(at);
      label.textContent = isNewDay ? (clockOf(at) === "00:00" ? day : `${day} ${clockOf(at)}`) : clockOf(at) + seconds;
    }
  }

  function zoneTimes(within) {
    for (const element of all("time[data-at]", within)) {
      const micros = Number(element.dataset.at);
      element.textContent = said(new Date(micros / 1000), element.dataset.style || "clock", micros);
    }
    for (const axis of all(".chart-plot > svg", within)) labelTicks(all("text[data-at]", axis));
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    if (zone) for (const element of all("[data-zone]", within)) element.textContent = zone.replace(/_/g, " ");
  }
  setInterval(() => {
    for (const element of all('time[data-style="ago"]')) {
      element.textContent = ago(new Date(Number(element.dataset.at) / 1000), Date.now());
    }
  }, 5000);

  // --- Theme: system, light, dark -------------------------------------------------------------------------
  function nameTheme() {
    const theme = root.dataset.theme || "system";
    for (const button of all("[data-theme-switch]")) {
      button.title = `Theme: ${theme}`;
      button.setAttribute("aria-label", button.title);
    }
  }
  function switchTheme() {
    const next = { undefined: "light", light: "dark", dark: undefined }[root.dataset.theme];
    if (next) root.dataset.theme = next;
    else delete root.dataset.theme;
    try {
      if (next) localStorage.setItem("theme", next);
      else localStorage.removeItem("theme");
    } catch (error) {
      // Storage is forbidden: the choice lasts for this page.
    }
    nameTheme();
  }

  // --- Copy -----------------------------------------------------------------------------------------------
  async function copy(button) {
    const source = button.dataset.copy ? document.querySelector(button.dataset.copy) : null;
    const text = button.dataset.copyText || (source ? source.value || source.textContent : location.href);
    let done = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch (error) {
      // Plain http on another host has no clipboard: the old way still works there.
      const area = document.createElement("textarea");
      area.value = text;
      area.className = "sr-only";
      document.body.append(area);
      area.select();
      done = document.execCommand("copy");
      area.remove();
    }
    const label = button.querySelector("[data-copy-label]") || button;
    if (!label.dataset.was) label.dataset.was = label.textContent;
    label.textContent = done ? "Copied" : "Copy failed";
    setTimeout(() => { label.textContent = label.dataset.was; }, 1600);
  }

  // --- Menus ----------------------------------------------------------------------------------------------
  function closeMenus(except) {
    for (const menu of all("details[data-menu][open]")) if (menu !== except) menu.open = false;
  }

  document.addEventListener("click", (event) => {
    if (!(event.target instanceof Element)) return;
    closeMenus(event.target.closest("details[data-menu]"));
    const button = event.target.closest("[data-copy], [data-theme-switch], [data-help], [data-dismiss]");
    if (button && button.matches("[data-copy]")) copy(button);
    else if (button && button.matches("[data-theme-switch]")) switchTheme();
    else if (button && button.matches("[data-help]")) openHelp();
    else if (button) { dismiss(document.querySelector(button.dataset.dismiss)); event.preventDefault(); }
    const row = event.target.closest(".table.linked tbody tr");
    if (row && !event.target.closest("a, button, input, select, label, summary") && !String(getSelection())) {
      const link = row.querySelector("a[data-row]");
      if (link) link.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey: event.ctrlKey, metaKey: event.metaKey }));
    }
  });

  function dismiss(element) {
    if (!element) return;
    element.replaceChildren();
    // What is closed stays closed on a reload, and in a link that is copied.
    const address = new URL(location.href);
    if (address.searchParams.has("peek")) {
      address.searchParams.delete("peek");
      history.replaceState(history.state, "", address);
    }
    const row = document.querySelector("tr.current a[data-row]");
    all("tr.current").forEach((found) => found.classList.remove("current"));
    if (row) row.focus();
  }

  // --- Keyboard -------------------------------------------------------------------------------------------
  function openHelp() {
    const help = document.getElementById("help");
    if (help && !help.open) help.showModal();
  }
  function step(forward) {
    const rows = all("a[data-row]").filter((row) => row.offsetParent !== null);
    if (!rows.length) return;
    let place = rows.indexOf(document.activeElement);
    if (place < 0) place = rows.findIndex((row) => row.closest("tr.current"));
    const next = place < 0 ? (forward ? 0 : rows.length - 1) : place + (forward ? 1 : -1);
    const row = rows[Math.max(0, Math.min(rows.length - 1, next))];
    row.focus();
    row.scrollIntoView({ block: "nearest" });
  }
  let jumpUntil = 0;
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target instanceof Element ? event.target : document.body;
    if (event.key === "Escape") {
      const open = document.querySelector("details[data-menu][open]");
      if (open) { closeMenus(); open.querySelector("summary").focus(); }
      else if (target.matches("[data-filter]")) target.blur();
      else { const peek = document.querySelector(".peek:not(:empty)"); if (peek && !document.querySelector("dialog[open]")) dismiss(peek); }
      return;
    }
    if (target.closest("input, textarea, select, [contenteditable], dialog[open]")) return;
    if (performance.now() < jumpUntil) {
      jumpUntil = 0;
      const link = document.querySelector(`a[data-go="${CSS.escape(event.key)}"]`);
      if (link) { event.preventDefault(); link.click(); }
      return;
    }
    const filter = document.querySelector("[data-filter]");
    if (event.key === "/" && filter) { event.preventDefault(); filter.focus(); filter.select(); }
    else if (event.key === "j" || event.key === "k") { event.preventDefault(); step(event.key === "j"); }
    else if (event.key === "g") jumpUntil = performance.now() + 1200;
    else if (event.key === "?") { event.preventDefault(); openHelp(); }
  });

  // --- Refresh: off unless chosen; the choice is in the address -------------------------------------------
  let refreshTimer = 0;
  function setRefresh(select, isChoice) {
    clearInterval(refreshTimer);
    const seconds = Number(select.value);
    if (isChoice) {
      const url = new URL(location.href);
      if (seconds) url.searchParams.set("refresh", String(seconds));
      else url.searchParams.delete("refresh");
      history.replaceState(history.state, "", url);
    }
    if (seconds) refreshTimer = setInterval(() => { if (!document.hidden && window.htmx) htmx.trigger(document.body, "refresh"); }, seconds * 1000);
  }
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-refresh]")) setRefresh(event.target, true);
    else if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
  });

  function askFreshness() {
    const slot = document.querySelector("[data-freshness]");
    if (slot && !document.hidden && window.htmx) htmx.trigger(slot, "freshness");
  }
  setInterval(askFreshness, 15000);

  // --- Charts: a tip that follows, and brushing -----------------------------------------------------------
  function tipOf(figure) {
    let tip = figure.querySelector(":scope > .chart-tip");
    if (!tip) {
      tip = document.createElement("div");
      tip.className = "chart-tip";
      tip.hidden = true;
      figure.append(tip);
    }
    return tip;
  }
  function tipText(bin) {
    const title = bin.querySelector("title");
    if (title) {
      // The browser's own tip would come a second later on top of ours.
      bin.tipLines = title.textContent.split("\n");
      title.remove();
    }
    const lines = (bin.tipLines || []).slice();
    if (bin.dataset.from && Number(bin.dataset.to) - Number(bin.dataset.from) < 864e8) {
      const from = new Date(Number(bin.dataset.from) / 1000);
      lines[0] = `${dayNames.format(from)} ${clockOf(from)} to ${clockOf(new Date(Number(bin.dataset.to) / 1000))}`;
    }
    return lines.join("\n");
  }
  function showTip(figure, bin, event) {
    const tip = tipOf(figure);
    const box = figure.getBoundingClientRect();
    tip.textContent = tipText(bin);
    tip.hidden = false;
    const left = event.clientX - box.left;
    const width = tip.offsetWidth;
    tip.style.left = `${Math.max(0, left + 14 + width > box.width ? left - width - 14 : left + 14)}px`;
    tip.style.top = `${Math.max(0, event.clientY - box.top - tip.offsetHeight / 2)}px`;
  }
  document.addEventListener("pointermove", (event) => {
    const bin = event.target instanceof Element ? event.target.closest(".chart .bin") : null;
    const figure = bin && bin.closest(".chart");
    all(".chart > .chart-tip").forEach((tip) => { if (!figure || tip.parentElement !== figure) tip.hidden = true; });
    if (figure && !brush) showTip(figure, bin, event);
  }, { passive: true });

  let brush = null;
  let brushedAt = -1e9;
  const share = (plot, event) => {
    const box = plot.getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
  };
  document.addEventListener("pointerdown", (event) => {
    const plot = event.target instanceof Element ? event.target.closest(".chart[data-brush] .chart-plot") : null;
    if (!plot || event.button !== 0 || event.pointerType === "touch") return;
    brush = { plot, figure: plot.closest(".chart"), start: share(plot, event), x: event.clientX, pane: null };
  });
  document.addEventListener("pointermove", (event) => {
    if (!brush) return;
    if (!brush.pane) {
      if (Math.abs(event.clientX - brush.x) < 5) return;
      brush.pane = document.createElement("div");
      brush.pane.className = "chart-brush";
      brush.plot.append(brush.pane);
      tipOf(brush.figure).hidden = true;
    }
    const [from, to] = brushed(share(brush.plot, event));
    const first = Number(brush.figure.dataset.from);
    const span = Number(brush.figure.dataset.to) - first;
    brush.pane.style.left = `${(100 * (from - first)) / span}%`;
    brush.pane.style.width = `${(100 * (to - from)) / span}%`;
    brush.pane.style.height = `${brush.plot.querySelector("svg").clientHeight - 20}px`;
  });
  function brushed(end) {
    const { from, to, step } = brush.figure.dataset;
    const first = Number(from), span = Number(to) - first, size = Number(step);
    const low = Math.min(brush.start, end), high = Math.max(brush.start, end);
    return [
      first + Math.floor((low * span) / size) * size,
      first + Math.max(Math.ceil((high * span) / size), Math.floor((low * span) / size) + 1) * size,
    ];
  }
  document.addEventListener("pointerup", (event) => {
    if (!brush) return;
    const done = brush;
    const [from, to] = brushed(share(brush.plot, event));
    brush = null;
    if (!done.pane) return;
    brushedAt = performance.now();
    const iso = (micros) => new Date(micros / 1000).toISOString().replace(".000Z", "Z");
    const chosen = new CustomEvent("console:brush", { bubbles: true, cancelable: true, detail: { from: iso(from), to: iso(to) } });
    if (!done.figure.dispatchEvent(chosen)) { done.pane.remove(); return; }
    const url = new URL(done.figure.dataset.brush || location.href, location.href);
    for (const name of ["range", "cursor"]) url.searchParams.delete(name);
    url.searchParams.set("from", iso(from));
    url.searchParams.set("to", iso(to));
    location.assign(url);
  });
  document.addEventListener("pointercancel", () => { if (brush && brush.pane) brush.pane.remove(); brush = null; });
  document.addEventListener("dragstart", (event) => { if (event.target instanceof Element && event.target.closest(".chart")) event.preventDefault(); });
  // A drag that ends on a bar must not open that bar.
  document.addEventListener("click", (event) => {
    if (performance.now() - brushedAt < 300 && event.target instanceof Element && event.target.closest(".chart")) {
      event.preventDefault();
      event.stopPropagation();
    }
  }, true);

  // --- Start, and again for every swapped piece -------------------------------------------------------------
  function start(within) {
    zoneTimes(within);
    const select = within.querySelector("[data-refresh]");
    if (select) setRefresh(select, false);
  }
  // On a phone the facets would stand before the list: only those in use stay open.
  function foldFacets(within) {
    if (window.innerWidth >= 960) return;
    for (const facet of all("details.facet[open]", within)) facet.open = facet.querySelector("[aria-current], [aria-pressed=true]") !== null;
  }
  document.addEventListener("htmx:afterSwap", (event) => {
    zoneTimes(event.target.parentElement || document);
    foldFacets(document);
  });
  document.addEventListener("htmx:oobAfterSwap", (event) => zoneTimes(event.target));
  document.addEventListener("htmx:afterRequest", (event) => {
    const row = event.detail.elt.closest && event.detail.elt.closest("a[data-row]");
    if (!row || !event.detail.successful) return;
    all("tr.current").forEach((found) => found.classList.remove("current"));
    if (row.closest("tr")) row.closest("tr").classList.add("current");
  });
  window.addEventListener("pageshow", (event) => { if (event.persisted) start(document); });
  document.addEventListener("DOMContentLoaded", () => {
    nameTheme();
    start(document);
    askFreshness();
    if (window.innerWidth >= 960) return;
    foldFacets(document);
    const current = document.querySelector(".nav [aria-current]");
    if (current) current.parentElement.parentElement.scrollLeft = current.offsetLeft - 16;
  });
})();
