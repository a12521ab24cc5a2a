(() => {
  'use strict';
  // In VS Code the lines are those of an open file; elsewhere they are marked in the listing of the page.
  const host = typeof acquireVsCodeApi === 'function' ? acquireVsCodeApi() : undefined;
  const tip = document.getElementById('tip');
  const status = document.getElementById('status');

  function choose(target) {
    const kernel = target.closest('.kernel');
    const line = Number(target.dataset.line);
    const rows = [...kernel.querySelectorAll('.row')];
    const at = 'row' in target.dataset ? Number(target.dataset.row) : rows.findIndex((row) => row.dataset.line === target.dataset.line);
    const last = 'lastRow' in target.dataset ? Number(target.dataset.lastRow) : at;
    for (const row of document.querySelectorAll('.mark, .within')) row.classList.remove('mark', 'within');
    for (const bar of document.querySelectorAll('[aria-pressed=true]')) bar.setAttribute('aria-pressed', 'false');
    if (target.hasAttribute('aria-pressed')) target.setAttribute('aria-pressed', 'true');
    rows.slice(at + 1, last + 1).forEach((row) => row.classList.add('within'));
    const row = rows[at];
    if (row) {
      row.classList.add('mark');
      row.scrollIntoView({ block: 'nearest' });
    }
    const text = row ? row.querySelector('code').textContent.trim() : '';
    status.textContent = [target.dataset.tip && target.dataset.tip.replaceAll('\n', ' · '), `${line}: ${text}`].filter(Boolean).join('\n');
    if (host) host.postMessage({ line, last: Number(target.dataset.last) || line });
  }

  function show(target, x, y) {
    tip.textContent = target.dataset.tip;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const room = document.documentElement;
    tip.style.left = `${Math.max(4, Math.min(x + 14, room.clientWidth - box.width - 4))}px`;
    tip.style.top = `${y + 18 + box.height > room.clientHeight ? Math.max(4, y - box.height - 10) : y + 18}px`;
  }

  const hide = () => { tip.hidden = true; };
  const tipped = (event) => event.target.closest && event.target.closest('[data-tip]');

  document.addEventListener('click', (event) => {
    const apply = event.target.closest('[data-apply]');
    if (apply) host.postMessage({ apply: Number(apply.dataset.apply) });
    const target = event.target.closest('[data-line]');
    if (target) choose(target);
  });
  document.addEventListener('mousemove', (event) => {
    const target = tipped(event);
    if (target) show(target, event.clientX, event.clientY);
    else hide();
  });
  document.addEventListener('mouseleave', hide);
  document.addEventListener('focusin', (event) => {
    const target = tipped(event);
    if (!target || !target.matches(':focus-visible')) return;
    const box = target.getBoundingClientRect();
    show(target, box.left, Math.min(box.bottom, document.documentElement.clientHeight - 20) - 14);
  });
  document.addEventListener('focusout', hide);
  document.addEventListener('scroll', hide, { passive: true });
  document.addEventListener('keydown', (event) => { if (event.key === 'Escape') hide(); });

  /** Answer a drawing as a picture, twice as large: a page can paint, an editor cannot. */
  function paint(drawing) {
    const image = new Image();
    image.addEventListener('load', () => {
      const canvas = document.createElement('canvas');
      canvas.width = 2 * image.width;
      canvas.height = 2 * image.height;
      canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
      host.postMessage({ picture: canvas.toDataURL('image/png') });
    });
    image.addEventListener('error', () => host.postMessage({ picture: '' }));
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawing)}`;
  }

  // An editor behind the page applies layouts, says which kernel this is for the time after a reload, and where its cursor is.
  if (host) {
    for (const button of document.querySelectorAll('[data-apply]')) button.hidden = false;
    window.addEventListener('message', ({ data }) => {
      if (data.drawing) {
        paint(data.drawing);
        return;
      }
      if (data.place) host.setState({ ...host.getState(), place: data.place });
      for (const row of document.querySelectorAll('.here')) row.classList.remove('here');
      for (const row of document.querySelectorAll(`.row[data-line="${Number(data.cursor)}"]`)) row.classList.add('here');
    });
    host.postMessage({ ready: true });
  }

  // What was chosen in the switch survives a new map of the same kernel.
  if (host) {
    const kept = host.getState() || {};
    for (const input of document.querySelectorAll('.switch input')) {
      if (kept[input.name] === input.value) input.checked = true;
      input.addEventListener('change', () => host.setState({ ...host.getState(), [input.name]: input.value }));
    }
  }
})();
