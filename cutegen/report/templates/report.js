"use strict";
(() => {
  const root = document.documentElement;
  const remembered = "cutegen-theme";
  const store = { get: () => { try { return localStorage.getItem(remembered); } catch { return null; } },
                  set: (value) => { try { localStorage.setItem(remembered, value); } catch { /* a file need not remember */ } } };
  if (store.get()) root.dataset.theme = store.get();
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const theme = () => { root.dataset.theme = dark() ? "light" : "dark"; store.set(root.dataset.theme); };
  const dialog = document.getElementById("help");
  const help = () => (dialog.open ? dialog.close() : dialog.showModal());
  const does = { theme, help };
  for (const button of document.querySelectorAll("[data-does]")) {
    button.hidden = false;
    button.addEventListener("click", () => does[button.dataset.does]());
  }
  for (const button of document.querySelectorAll(".copy")) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.previousElementSibling.textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }

  // What a link leads to may lie folded away.
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let at = target.parentElement; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    target.scrollIntoView({ block: target.classList.contains("line") ? "center" : "start" });
  };
  addEventListener("hashchange", reveal);
  reveal();

  const steps = [...document.querySelectorAll(".step")];
  const current = () => steps.indexOf(document.activeElement?.closest(".step") ?? document.querySelector(".step:target"));
  const go = (by) => {
    if (!steps.length) return;
    const at = current();
    const next = steps[Math.min(steps.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "start" });
    history.replaceState(null, "", "#" + next.id);
  };
  const fold = (found) => {
    const open = ![...found].every((one) => one.open);
    for (const one of found) one.open = open;
  };
  const here = (selector) => fold((steps[current()] ?? document.createElement("p")).querySelectorAll(selector));
  const keys = {
    j: () => go(1), k: () => go(-1),
    d: () => here(":scope details.change"), p: () => here(":scope details.talk"),
    x: () => fold(document.querySelectorAll("details.change")),
    g: () => { scrollTo({ top: 0 }); document.getElementById("main").focus({ preventScroll: true }); },
    t: theme, "?": help,
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, textarea, select")) return;
    const action = keys[event.key];
    if (!action || (dialog.open && event.key !== "?")) return;
    event.preventDefault();
    action();
  });

  // The section that is being read is marked in the navigation.
  const links = new Map([...document.querySelectorAll("nav a[href^='#']")].map((a) => [a.hash.slice(1), a]));
  const watch = new IntersectionObserver((seen) => {
    for (const one of seen) {
      if (!one.isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(one.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-30% 0px -65% 0px" });
  for (const id of links.keys()) { const section = document.getElementById(id); if (section) watch.observe(section); }
})();
