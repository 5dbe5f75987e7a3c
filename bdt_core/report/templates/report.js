"use strict";
// Comfort for readers: the page says everything without this. What stands in the page is text here, never markup.
(() => {
  const all = (query, within = document) => [...within.querySelectorAll(query)];
  const wordsOf = (one) => JSON.parse(one.closest("[data-words]").dataset.words);
  const make = (tag, text, attributes = {}) => {
    const made = document.createElement(tag);
    made.textContent = text;
    for (const [name, x] of Object.entries(attributes)) made.setAttribute(name, x);
    return made;
  };
  const LARGE = 8; // rows from which on a table is sorted and filtered

  // A cell's text and its smaller line, with spaces as they are read.
  const read = (cell) => {
    const copy = cell.cloneNode(true);
    const note = all("small", copy).map((one) => (one.remove(), one.textContent)).join(" ");
    return [copy.textContent, note].map((text) => text.replace(/\s+/g, " ").trim());
  };

  // The first number in a text; NaN where there is none.
  const numberIn = (text, decimal) => {
    const [found = ""] = text.replace(/\u2212/g, "-").match(/-?[\d.,]*\d(e-?\d+)?/) || [];
    return parseFloat(decimal === "," ? found.replace(/\./g, "").replace(",", ".") : found.replace(/,/g, "") || "-");
  };

  const sortable = (table, words) => {
    const body = table.tBodies[0], before = [...body.rows];
    all("thead th", table).forEach((head, place) => {
      const button = make("button", head.textContent, { type: "button" });
      const key = (row) => {
        const [text] = read(row.cells[place]);
        return head.className !== "text" ? numberIn(text, table.dataset.decimal ?? words.decimal[1]) : text;
      };
      const compare = (a, b) => (head.className !== "text" ? a - b : a.localeCompare(b, undefined, { numeric: true }));
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const next = { ascending: "descending", descending: "" }[head.getAttribute("aria-sort")] ?? "ascending";
        all("[aria-sort]", table).forEach((one) => one.removeAttribute("aria-sort"));
        if (next) head.setAttribute("aria-sort", next);
        const keyed = before.map((row) => [key(row), row]);
        const known = keyed.filter(([x]) => x === x && x !== "–"), rest = keyed.filter((one) => !known.includes(one));
        if (next) known.sort(([a], [b]) => (next === "ascending" ? 1 : -1) * compare(a, b));
        body.append(...(next ? [...known, ...rest].map(([, row]) => row) : before));
      });
    });
  };

  // Rows by words in them; and where a first column has the same again and again, by a choice of it.
  const filter = (table, words, tools) => {
    const label = make("label", words.filter), input = make("input", "", { type: "search" }), select = make("select", "");
    const told = make("span", "", { role: "status" }), first = (row) => read(row.cells[0])[0];
    const rows = [...table.tBodies[0].rows], firsts = [...new Set(rows.map(first))];
    const show = () => {
      const asked = input.value.toLowerCase().split(/\s+/).filter(Boolean), chosen = firsts[select.selectedIndex - 1];
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !asked.every((one) => text.includes(one)) || (chosen ?? first(row)) !== first(row);
      }
      const kept = rows.filter((row) => !row.hidden).length;
      told.textContent = asked.length || select.selectedIndex > 0 ? `${kept} / ${rows.length} ${words.rows}` : "";
    };
    if (firsts.length > 1 && 2 * firsts.length <= rows.length) {
      const choice = make("label", table.tHead.rows[0].cells[0].textContent);
      select.append(...[words.all, ...firsts].map((one) => make("option", one)));
      select.addEventListener("input", show);
      choice.append(select);
      tools.append(choice);
    }
    label.append(input);
    tools.append(label, told);
    input.addEventListener("input", show);
  };

  // A number as machines write it; any other text that a spreadsheet would calculate gets an apostrophe.
  const csvCell = (text) => {
    const number = text.replace(/^\u2212/, "-");
    const harmless = /^-?\d+(\.\d+)?(e[-+]?\d+)?$/i.test(number) ? number : /^[=+\-@\uff1d\uff0b\uff0d\uff20]/.test(text) ? `'${text}` : text;
    return `"${harmless.replace(/"/g, '""')}"`;
  };

  const csv = (table) => {
    const point = (text) => (table.dataset.decimal === "," ? text.replace(/^(-?\d+),(\d+(e-?\d+)?)$/, "$1.$2") : text);
    const rows = [...table.rows].map((row) => [...row.cells].map((cell) => read(cell).map(point)));
    const noted = rows[0].map((_, place) => rows.some((row) => row[place]?.[1]));
    const line = (row, first) => row.flatMap(([text, note], place) =>
      noted[place] ? [text, first ? `${text} (2)` : note] : [text]).map(csvCell).join(",");
    return "\ufeff" + rows.map((row, number) => line(row, !number)).join("\r\n") + "\r\n";
  };

  const save = (table, name) => {
    const address = URL.createObjectURL(new Blob([csv(table)], { type: "text/csv;charset=utf-8" }));
    const link = make("a", "", { href: address, download: `${name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60).replace(/^-+|-+$/g, "") || "table"}.csv` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 60000); // a browser that is busy begins to read later
  };

  for (const table of all("table")) {
    const words = wordsOf(table), caption = table.caption.textContent;
    const tools = make("div", "", { class: "tool" });
    if (table.tBodies[0].rows.length >= LARGE) {
      filter(table, words, tools);
      sortable(table, words);
    }
    const button = make("button", words.csv, { type: "button", "aria-label": `${words.csv}: ${caption}` });
    button.addEventListener("click", () => save(table, caption));
    tools.append(button);
    table.parentElement.before(tools);
  }

  // What scrolls is named by its caption, or by what its picture says.
  for (const one of all(".scroll")) {
    const named = one.querySelector("caption") || one.parentElement.querySelector("figcaption");
    one.setAttribute("role", "group");
    one.setAttribute("aria-label", named ? named.textContent : one.querySelector("svg").getAttribute("aria-label"));
  }

  // A link to each section and finding.
  const copied = async (address) => {
    try {
      await navigator.clipboard.writeText(address);
      return true;
    } catch {
      const field = make("textarea", address);
      document.body.append(field);
      field.select();
      const done = document.execCommand("copy");
      field.remove();
      return done;
    }
  };
  for (const one of all("section[id], details[id]")) {
    const words = wordsOf(one), title = one.querySelector("h2, summary");
    const button = make("button", words.copy, { type: "button", "aria-label": `${words.copy}: ${title.textContent}` });
    const told = make("span", "", { role: "status" }), tools = make("div", "", { class: "tool copy" });
    button.addEventListener("click", async () => {
      history.replaceState(null, "", `#${one.id}`);
      told.textContent = (await copied(location.href)) ? words.copied : location.href;
    });
    tools.append(told, button);
    title.after(tools);
  }

  const blocks = all("[data-language]");
  const choose = (language) => {
    for (const one of blocks) {
      one.hidden = one.dataset.language !== language;
      one.classList.toggle("chosen", !one.hidden);
      if (one.tagName === "DETAILS") one.open = !one.hidden;
      if (!one.hidden) document.title = one.dataset.title;
    }
    document.documentElement.lang = language;
    for (const one of all(".language button")) one.setAttribute("aria-pressed", String(one.lang === language));
  };
  if (blocks.length > 1) {
    const main = document.documentElement.lang;
    const named = blocks.map((one) => [one.dataset.language, wordsOf(one)]).sort();
    const bar = make("div", "", { class: "tool language", role: "group", "aria-label": wordsOf(blocks.at(-1)).languages });
    for (const [language, words] of named) {
      const button = make("button", words.language_name, { type: "button", lang: language });
      button.addEventListener("click", () => choose(language));
      bar.append(button);
    }
    document.querySelector("main").prepend(bar);
    choose(main);
  }

  // What the address names is unfolded and shown, in its language.
  const show = () => {
    let target = null;
    try {
      target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    } catch {
      return; // no address of ours
    }
    if (!target) return;
    const language = target.closest("[data-language]")?.dataset.language;
    if (language) choose(language);
    for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", show);
  show();

  // Whoever frames it, as bdt open does, can make the frame as high as the page: then one bar scrolls.
  const tell = () => parent.postMessage({ height: document.documentElement.offsetHeight }, "*");
  if (parent !== window) new ResizeObserver(tell).observe(document.documentElement);

  // On paper all is unfolded.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = all("details:not([open])");
    for (const one of folded) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of folded) one.open = false;
  });

  // What cannot be scrolled is no stop for the keyboard.
  const stops = () => {
    for (const one of all(".scroll, pre")) {
      if (one.scrollWidth > one.clientWidth) one.tabIndex = 0;
      else one.removeAttribute("tabindex");
    }
  };
  addEventListener("resize", stops);
  addEventListener("toggle", stops, true);
  stops();
})();
