"""Why tests of peers fail on our equivalents: the first pattern that a test's name has decides."""

from __future__ import annotations

import re

_NO_SPARSE_Y = "A code book gives each row one class; several labels a row are not its task."
_LEARNERS = (
    "A learner of a code book is a classifier: regressors and models without predict are not."
)
_NOT_LINEAR = "The test reads the coef_ of a linear model, and a flock is none."
_PARTIAL = "A flock is searched for on all rows and has no partial_fit."
_NAMES_OF_CLASSES = "Columns are named by the labels of classes, not by their numbers."
_VOTES = "Votes have probabilities here: their shares."

REASONS: dict[str, list[tuple[str, str]]] = {
    "test_voting": [
        (r"estimator_init\[params1", "A list of estimators needs no names here."),
        (r"hardvoting|predict_proba_on_toy|names_out_classifier_error", _VOTES),
        (r"test_multilabel", "Asks that several labels be refused with NotImplementedError."),
        (r"sample_weight_kwargs", "The mock of the test has no predict, which members need."),
        (r"set_estimator_drop|test_transform", "Asks for members as the first of three axes."),
        (r"verbose", "verbose=1 says it in other words."),
        (r"names_out_classifier\[", _NAMES_OF_CLASSES),
        (
            r"metadata_routing_for_voting",
            "The mock of the test predicts a class that y does not hold, which is refused.",
        ),
    ],
    "test_stacking": [
        (
            r"classifier_error\[y[23]|regressor_error\[y2|sample_weight_fit_param",
            "Weights that are all one are taken as none; the mock has no predict.",
        ),
        (r"without_n_features_in", "n_features_in_ is there, whatever members have."),
        (r"multilabel", "Stacks have one target; `MultiOutputClassifier` has several."),
        (r"get_feature_names_out", _NAMES_OF_CLASSES),
        (r"base_regressor", "Members of a classifier are classifiers."),
        (
            r"final_estimator_attribute_error",
            "decision_function is there where the model on top has predict_proba only.",
        ),
        (
            r"metadata_routing_for_stacking",
            "A model on top says itself whether its fit wants what the members want.",
        ),
    ],
    "test_multiclass": [
        (r"ovr_ties|ovo_regressor|ovr_binary|single_label_predict_proba", _LEARNERS),
        (r"fit_predict_sparse|ovr_multi", _NO_SPARSE_Y),
        (r"always_present", "A label that every row has is none of a code book's tasks."),
        (
            r"ovo_decision_function|ovo_ties",
            "Scores are distances of words, not numbers of votes.",
        ),
        (
            r"ecoc_fit_predict|ecoc_delegate",
            "Columns that repeat others are not made: three classes have three.",
        ),
        (r"pairwise", "No precomputed kernels."),
        (r"constant_int_target", "A single class is refused, as by most classifiers."),
        (r"attribute_error", "decision_function is there, whatever learners have."),
    ],
    "over a flock": [
        (r"partial_fit|test_prefit$", _PARTIAL),
        (
            r"importance_getter|coef|wrapped_estimator|score_params|with_nans|importance_sparse",
            _NOT_LINEAR,
        ),
        (r"multioutput", "Flocks have one target; `MultiOutputRegressor` has several."),
        (
            r"prefit_get_feature_names|rfecv\[|stopping_criterion",
            "The test asks for the features, or scores, that the model of the test would choose.",
        ),
        (r"nan_support", "The test asks that missing values be refused; flocks take them."),
        (r"rfe_cv_groups", "A fold of the test has rows of one class only, which is refused."),
    ],
    "mlxtend": [
        (r"use_clones", "Models are always copied before they are fitted."),
        (
            r"drop_|avg_vs_concat",
            "All columns of members' probabilities are seen, and none are averaged.",
        ),
        (r"train_meta_features", "Labels are a column for each class, not one of numbers."),
        (r"multivariate_class", "A stack has one target; `MultiOutputRegressor` has several."),
        (
            r"sample_weight",
            "scikit-learn's forests draw other rows if weights are given, also if all are one.",
        ),
        (r"replace_mix", "Replaces models by names that mlxtend gives them."),
        (
            r"estimators_false|gridsearch|test_StackingC|proba_avg_1|use_probas|in_secondary|decision"
            r"|technique|sparse|fold_indexes|different_models|multivariate$|coeff|intercept",
            "Asks for a number to two digits, of members that are asked about the rows they were "
            "fitted on (here: out of fold), of other folds, or of an older scikit-learn.",
        ),
    ],
    "DESlib: methods": [
        (
            r"J_N|J_higher|pect_zero|pct|diversity|ratio|_Q|_DF|competence_batch|metric_perf"
            r"|different_scorer|similarity|clusters|meta$|passthrough|^test_estimate_competence$"
            r"|select_batch|select_less|select_single|^test_select$",
            "Asks for parameters and steps of DESlib that ours have not: other measures of "
            "diversity, what is inside of a cluster, numbers instead of shares.",
        ),
        (
            r"classify|with_ds|source_competence_kl|^test_fit$",
            "Looks at what DESlib keeps inside (DSEL, scores, the index of a member).",
        ),
        (r"none_competent|weights_zero", "Where nobody is selected all decide, after `select`."),
        (r"no_proba|not_predict_proba", "Members without probabilities decide by their votes."),
        (r"voting_value", "Voting is checked by the rule, whose mock members fail before."),
        (r"single_classifier|single_model", "One member is an ensemble, if a small one."),
        (r"not_clustering", "The clusters are always those of k-means."),
        (r"alpha_type", "A whole number is a number."),
        (
            r"check_estimator",
            "The rows of scikit-learn's check reach members, which stand in the test, unchecked.",
        ),
        (
            r"predict$|all_same|proba_shape|right_class|label_encoder_base|predict_diff",
            "An oracle is a bound here, with a score; mocks predict another class than the one "
            "of their highest probability.",
        ),
        (r"predict_proba$", "Probabilities are those of votes, or of all that are selected."),
    ],
    "DESlib": [
        (r"_proba\[", "The file with the expected values is not in DESlib's package."),
        (
            r"desknn",
            "100 members have eight accuracies on seven neighbors: which of equals are kept, by "
            "the order of a sort, decides 2 of 188 rows.",
        ),
        (
            r"test_mcb|priori|posteriori",
            "DESlib draws one of the members that are nearly the best.",
        ),
        (
            r"test_desp$|test_meta$|test_mi$",
            "scikit-learn's AdaBoost, which is the pool, has become another (SAMME.R is gone).",
        ),
        (r"not_encoding", "scikit-learn's AdaBoost has become another (SAMME.R is gone)."),
        (r"no_pool", "The pool that is grown where none is given is drawn otherwise."),
        (
            r"oracle_subspaces_proba",
            "An oracle is a bound here, with a score and no probabilities.",
        ),
    ],
}


def reason_for(suite: str, test: str) -> str | None:
    """Why a test fails; None if that is not known."""
    for part, reasons in REASONS.items():
        if part in suite:
            for pattern, reason in reasons:
                if re.search(pattern, test):
                    return reason
    return None
