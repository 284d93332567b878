// Fetches the live view again and again; focus, scroll positions and a selection stay as they are.
"use strict";
(() => {
  const live = document.getElementById("live");
  const said = document.getElementById("said");
  const lost = document.getElementById("lost");
  let shown = "";

  const draw = (text) => {
    const focused = live.contains(document.activeElement) ? document.activeElement.id : "";
    const places = [...live.querySelectorAll(".scroll[id], pre[id]")].map((e) => [e.id, e.scrollLeft, e.scrollTop]);
    live.replaceChildren(...new DOMParser().parseFromString(text, "text/html").body.childNodes);
    for (const [id, left, top] of places) document.getElementById(id)?.scrollTo(left, top);
    if (focused) (document.getElementById(focused) ?? live).focus({ preventScroll: true });
    const say = live.querySelector("[data-say]")?.dataset.say ?? "";
    if (said.textContent !== say) said.textContent = say;
  };

  const look = async () => {
    try {
      const answer = document.hidden ? null : await fetch(live.dataset.from);
      const text = answer?.ok ? await answer.text() : shown;
      lost.hidden = answer === null || answer.ok;
      if (text !== shown && getSelection().type !== "Range") draw((shown = text));
    } catch {
      lost.hidden = false;
    }
    setTimeout(look, 2000);
  };
  setTimeout(look, 2000);
})();
