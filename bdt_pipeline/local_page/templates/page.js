"use strict";
// Comfort: every page works without this. What stands in the page is text here, never markup.
(() => {
  const find = (query) => document.querySelector(query);
  const place = document.body.dataset.place;

  const drop = find(".drop");
  if (drop) {
    const input = find("#file");
    const told = find(".large");
    input.addEventListener("change", () => {
      const isLarge = input.files.length > 0 && input.files[0].size > drop.dataset.most * 1e6;
      told.hidden = !isLarge;
      if (input.files.length > 0 && !isLarge) drop.requestSubmit();
    });
    // Wherever on the page it is dropped; without this it would take the place of the page.
    document.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
    document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) drop.classList.remove("over"); });
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      drop.classList.remove("over");
      if (event.dataTransfer.files.length === 0) return;
      input.files = event.dataTransfer.files;
      input.dispatchEvent(new Event("change"));
    });
  }

  const questions = find(".questions");
  if (questions) {
    const begun = new FormData(questions).get("outcome");
    const ofOther = find("details.other");
    const look = find("[name=do][value=look]");
    const names = find("#names-file");
    names.parentElement.hidden = false;
    names.addEventListener("change", async () => {
      if (names.files.length > 0) find("#names").value = await names.files[0].text();
    });
    questions.addEventListener("input", ({ target }) => {
      if (target.type === "range") target.nextElementSibling.textContent = target.value;
    });
    questions.addEventListener("change", (event) => {
      const outcome = new FormData(questions).get("outcome");
      if (event.target.name === "outcome" && outcome !== begun && !ofOther.contains(event.target)) questions.requestSubmit(look);
      if (event.target.tagName === "SELECT" && ofOther.contains(event.target)) {
        event.target.closest(".fields").previousElementSibling.querySelector("input").checked = true;
      }
    });
  }

  const frame = find("iframe");
  if (frame) {
    addEventListener("message", ({ source, data }) => {
      if (source === frame.contentWindow && data.height > 0) frame.style.height = `${data.height + 2}px`; // and its border
    });
  }

  if (place === "reading" || place === "auditing") {
    const list = (query, texts, classOf) => find(query).replaceChildren(...texts.map((text, at) => {
      const one = document.createElement("li");
      one.textContent = text;
      one.className = classOf(at);
      return one;
    }));
    const ask = async () => {
      try {
        const now = await (await fetch("progress")).json();
        if (now.place !== place) return location.replace("./"); // this page may be the answer to a form
        const told = now.waiting || now.stages[now.at];
        if (find("#told").textContent !== told) find("#told").textContent = told;
        find("progress").value = now.share;
        list(".stages", now.stages, (at) => (at < now.at ? "done" : at === now.at ? "now" : "later"));
        list(".notices", now.notices, () => "");
      } catch { /* the program may be ending */ }
      setTimeout(ask, 400);
    };
    setTimeout(ask, 400);
  }
})();
