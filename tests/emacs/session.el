;;; session.el --- one session, as a user has it  -*- lexical-binding: t -*-

;; Open the file in $SMEM_FILE, read the diagnostics, take the merge, write the file.  Results go to $SMEM_RESULTS as
;; JSON.  Runs on Emacs 28 with eglot 1.9, and on Emacs 30 with its own.

(require 'eglot)
(require 'json)

;; From the README, but for the command.
(define-derived-mode cuda-mode c++-mode "CUDA")
(add-to-list 'auto-mode-alist '("\\.cuh?\\'" . cuda-mode))
(add-to-list 'eglot-server-programs
             (cons 'cuda-mode (append (json-parse-string (getenv "SMEM_COMMAND") :array-type 'list) nil)))
(setq-default eglot-workspace-configuration '(:smem (:arch ["sm_86"] :registers 40 :ignore ["SMEM204" "SMEM501"])))

(setq eglot-confirm-server-edits nil
      eglot-connect-timeout 60
      eglot-sync-connect 60
      enable-local-variables nil
      make-backup-files nil)

(defvar results nil)

(defun note (key value) (push (cons key value) results))

(defun write-results ()
  (let ((coding-system-for-write 'utf-8))
    (with-temp-file (getenv "SMEM_RESULTS") (insert (json-encode results)))))

(defun wait-for (what ask)
  "Ask until there is an answer; give up after a minute."
  (let ((limit (time-add nil 60)) answer)
    (while (not (setq answer (funcall ask)))
      (when (time-less-p limit nil)
        (note 'failed (format "waited a minute for %s" what))
        (write-results)
        (kill-emacs 1))
      (accept-process-output nil 0.05))
    answer))

(find-file (getenv "SMEM_FILE"))
(note 'mode (symbol-name major-mode))
(apply #'eglot--connect (eglot--guess-contact))
(wait-for "the connection" #'eglot-managed-p)
(flymake-start)  ; no timers in a batch; what arrives later is shown without it

(let ((diagnostics (wait-for "diagnostics" #'flymake-diagnostics)))
  (note 'diagnostics
        (vconcat (mapcar (lambda (one)
                           `((text . ,(flymake-diagnostic-text one))
                             (type . ,(format "%s" (flymake-diagnostic-type one)))
                             (source . ,(buffer-substring-no-properties (flymake-diagnostic-beg one)
                                                                        (flymake-diagnostic-end one)))))
                         diagnostics)))
  (goto-char (flymake-diagnostic-beg (car diagnostics))))

(let* ((end (+ (point) 1))
       (actions (append (eglot-code-actions (point) end "quickfix") nil))
       (title (lambda (action) (plist-get action :title)))
       (merge (seq-find (lambda (action) (string-prefix-p "Merge" (funcall title action))) actions)))
  (note 'actions (vconcat (mapcar title actions)))
  (if (fboundp 'eglot-execute)
      (eglot-execute (eglot-current-server) merge)
    (eglot--apply-workspace-edit (plist-get merge :edit))))
(eglot--signal-textDocument/didChange)
(wait-for "silence after the merge" (lambda () (null (flymake-diagnostics))))
(save-buffer)

(eglot-shutdown (eglot-current-server))
(note 'connected (if (eglot-managed-p) t :json-false))
(write-results)

;;; session.el ends here
