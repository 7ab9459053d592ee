"""scikit-learn's callbacks (progress bars, monitors) where the installed version has them."""

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class _NoCallbacks:
        def subcontext(self, *args, **kwargs):
            return self

        def call_on_fit_task_begin(self, **kwargs):
            return self

        def call_on_fit_task_end(self, **kwargs):
            return False

    class CallbackSupportMixin:
        """Stands in for scikit-learn's mixin; there are no callbacks to call."""

        def _init_callback_context(self, **kwargs):
            return _NoCallbacks()

    def with_callbacks(method):
        """Return the method as it is: there are no callbacks to tear down."""
        return method


__all__ = ["CallbackSupportMixin", "with_callbacks"]
